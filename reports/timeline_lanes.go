package reports

import (
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/internal/story"
)

// drawClient draws the states of one owner: waiting, holding, paused, dead.
func (t *timeline) drawClient(l *lane) {
	mine := func(e *history.Event) bool {
		return e.Client == l.client && (e.Owner == l.owner || e.Owner == "" || l.owner == "")
	}
	bar, bh := l.bar(), l.barHeight()
	waitEnd := 0.0
	for i := range t.f.History.Events {
		e := &t.f.History.Events[i]
		if e.Kind != history.Invoke || e.F != history.Acquire || !mine(e) || t.full() {
			continue
		}
		to, how := t.f.End, "and never returned"
		if op := t.f.Ops[e.Op]; op != nil && op.Done != nil {
			to, how = op.Done.Time, string(op.Done.Kind)
			if op.Done.Result != nil && op.Done.Result.Error != "" {
				how += ", " + op.Done.Result.Error
			}
		}
		// The next bar covers waits that are too short to see.
		x1, x2 := t.x(e.Time), t.x(to)
		if t.proof != nil || !t.shown(e.Time, to) || x2-x1 < 1.5 || x2 <= waitEnd {
			continue
		}
		waitEnd = x2
		t.rect("wait", x1, bar+3, x2-x1, bh-6, fmt.Sprintf("%s waits for the lock from %s, %s (%s), operation %d",
			l.label, history.At(e.Time), length(to-e.Time), how, e.Op))
	}
	for i := range t.f.Beliefs {
		c := &t.f.Beliefs[i]
		if c.Client == l.client && (c.Owner == l.owner || l.owner == "") && t.shown(c.From, c.To) && !t.full() && (t.proof == nil || t.proves(c)) {
			t.drawBelief(l, c, bar, bh)
			t.drawLease(l, c)
		}
	}
	for _, x := range t.f.Pauses(l.client) {
		t.drawStill(l, x.From, x.To, 2, "paused")
	}
	t.drawOps(l)
	t.drawNotes(l, mine)
}

// drawBelief draws one hold as a bar, with a label that fits into it.
func (t *timeline) drawBelief(l *lane, c *checker.Belief, y, h float64) {
	x1, x2 := t.x(c.From), t.x(c.To)
	w := max(x2-x1, 1.5)
	class := fmt.Sprintf("hold c%d", t.colour[l.client])
	if t.proof == nil && (t.proven[c.AcquireOp] || c.EndOp != 0 && t.proven[c.EndOp]) {
		class += " cause"
	}
	count := t.deepest(c)
	title := fmt.Sprintf("%s holds the lock from %s to %s, %s", l.label, history.At(c.From), history.At(c.To), length(c.To-c.From))
	if count > 1 {
		title += fmt.Sprintf(", up to %d holds", count)
	}
	if c.Token != 0 {
		title += fmt.Sprintf(", token %d", c.Token)
	}
	if c.Lease > 0 {
		title += ", lease " + length(c.Lease)
		if c.Renewed {
			title += " renewed"
		}
	}
	title += fmt.Sprintf(", operation %d, ended by %s", c.AcquireOp, c.EndedBy)
	t.rect(class, x1, y, w, h, title)
	label := "holds"
	if count > 1 {
		label += fmt.Sprintf(" ×%d", count)
	}
	if c.Token != 0 {
		label += fmt.Sprintf(" #%d", c.Token)
	}
	if room := t.room(l, stretch{x1, x1 + w}); textWidth(label)+10 <= room.x2-room.x1 {
		t.text("in", room.x1+5, y+h/2+4, label)
	}
}

// deepest is the highest hold count within a hold.
func (t *timeline) deepest(c *checker.Belief) int {
	most := 1
	if !t.f.History.Header.Claims.Reentrant {
		return most
	}
	for i := t.f.Index(c.From); i < len(t.f.History.Events) && t.f.History.Events[i].Time <= c.To; i++ {
		if e := &t.f.History.Events[i]; e.Kind == history.OK && e.F == history.Acquire && e.Owner == c.Owner && e.Result != nil {
			most = max(most, e.Result.Count)
		}
	}
	return most
}

// drawNotes marks the moments at which a client learned something between operations.
func (t *timeline) drawNotes(l *lane, mine func(*history.Event) bool) {
	for i := range t.f.History.Events {
		e := &t.f.History.Events[i]
		if e.Kind != history.Note || !mine(e) || !t.shown(e.Time, e.Time) || t.full() {
			continue
		}
		x, y := t.x(e.Time), l.bar()+l.barHeight()/2
		switch e.F {
		case history.Lost:
			t.lostMark(x, y, fmt.Sprintf("%s learns at %s that its hold is lost", l.label, history.At(e.Time)))
		case history.Stopped:
			t.lostMark(x, y, fmt.Sprintf("%s stops its work at %s: the validity of its hold is over", l.label, history.At(e.Time)))
		case history.Crashed, history.Panic:
			what := "is gone"
			if e.F == history.Panic {
				what = "panicked in the lock"
			}
			t.crashMark(x, y, fmt.Sprintf("%s %s at %s", l.label, what, history.At(e.Time)))
			if e.F == history.Crashed {
				t.line("gone", x+8, y, t.right(), y, "")
			}
		}
	}
}

// holding is the state of a server from a moment on.
type holding struct {
	holders []string // none of a free lock
	count   int
	since   int64
}

// drawServer draws who held the lock on one server, with ticks for renewals
// and other commands that touched it.
func (t *timeline) drawServer(l *lane) {
	for _, d := range t.f.Downs(l.node) {
		t.drawStill(l, d.From, d.To, 1, "down")
	}
	t.drawRoles(l)
	y, h := l.bar(), l.barHeight()
	var now holding
	var renewed strings.Builder
	lastX := -2.0
	for i := range t.f.History.Events {
		e := &t.f.History.Events[i]
		s := e.Server
		if s == nil || e.Kind != history.Server || s.Node != l.node || s.Key != l.key {
			continue
		}
		if slices.Contains(now.holders, s.Holder) {
			now.count = s.Count
			x := t.x(e.Time)
			if s.Cause == "command" && t.shown(e.Time, e.Time) && x-lastX >= 1 {
				fmt.Fprintf(&renewed, "M%s %sv%s", px(x), px(y-2), px(h+4))
				lastX = x
			}
			continue
		}
		t.drawHolding(l, now, e.Time, ended(s))
		now = holding{story.HoldersAfter(t.f.History.Header.Claims.Claims, now.holders, s), s.Count, e.Time}
		if s.Cause == "expiry" && t.shown(e.Time, e.Time) && !t.full() {
			x := t.x(e.Time)
			t.path("expiry", fmt.Sprintf("M%s %sv%sM%s %sl-3 -4h6Z", px(x), px(y-2), px(h+4), px(x), px(y+1)),
				fmt.Sprintf("%s: the lease of %s is over at %s", l.label, t.f.Holder(s.WasHolder), history.At(e.Time)))
		}
	}
	t.drawHolding(l, now, t.f.End, "to the end")
	t.path("renew", renewed.String(), "renewals and other commands on a held lock")
	t.drawSaid(l)
}

// drawHolding draws a holding until a moment, or until its server stopped before.
func (t *timeline) drawHolding(l *lane, x holding, to int64, how string) {
	if len(x.holders) == 0 {
		if t.shown(x.since, to) && !t.full() {
			t.drawNoKey(l, x.since, to)
		}
		return
	}
	to = min(to, t.stopped(l.node, x.since))
	if !t.shown(x.since, to) || t.full() {
		return
	}
	x1, x2, y, h := t.x(x.since), t.x(to), l.bar(), l.barHeight()
	class := "server"
	if c, ok := t.colour[t.f.ClientOf[x.holders[0]]]; ok {
		class += fmt.Sprintf(" c%d", c)
	}
	who, short := t.f.Holders(x.holders)
	times, is := "", "is the holder"
	if len(x.holders) > 1 {
		is = "are the holders"
	}
	if x.count > 1 {
		times = fmt.Sprintf(", count %d", x.count)
	}
	t.rect(class, x1, y, max(x2-x1, 1.5), h, fmt.Sprintf("%s: %s %s from %s, %s%s; %s",
		l.label, who, is, history.At(x.since), length(to-x.since), times, how))
	if textWidth(who)+10 > x2-x1 {
		who = short
	}
	if textWidth(who)+10 <= x2-x1 {
		t.text("in", x1+5, y+h/2+4, who)
	}
}

// drawSaid marks the log lines of a server about a change of the primary.
func (t *timeline) drawSaid(l *lane) {
	for i := range t.f.History.Events {
		e := &t.f.History.Events[i]
		if e.Kind != history.Log || e.Log == nil || e.Log.Server != l.node || !t.shown(e.Time, e.Time) || !story.Tells(e.Log.Text) || t.full() {
			continue
		}
		x, y := t.x(e.Time), l.bar()-2
		t.path("said", fmt.Sprintf("M%s %sl-4 -5h8Z", px(x), px(y+3)),
			fmt.Sprintf("%s says at %s: %s", l.label, history.At(e.Time), english.Short(english.Clean(e.Log.Text), story.MaxLine)))
	}
}

// drawStill hatches a time in which a process does nothing, in the height of a bar with a
// margin. It writes the state of the process into it, in the middle or at the end.
func (t *timeline) drawStill(l *lane, from, to int64, margin float64, state string) {
	if !t.shown(from, to) {
		return
	}
	x1, x2, y := t.x(from), t.x(to), l.bar()+11+margin
	t.rect("paused", x1, l.bar()-margin, x2-x1, l.barHeight()+2*margin, fmt.Sprintf("%s is %s from %s, %s", l.label, state, history.At(from), length(to-from)))
	if w := textWidth(state); x2-x1 > w && !t.write("halo", (x1+x2)/2, y, state) {
		t.write("halo", x2-w/2, y, state)
	}
}

func ended(s *history.ServerEvent) string {
	switch {
	case s.Cause == "command" && s.By != "":
		return "ended by " + s.Command + " of " + s.By
	case s.Cause == "command":
		return "ended by " + s.Command
	case s.Cause == "":
		return "ended"
	}
	return "ended by " + s.Cause
}

// stopped is when a server went down, or never.
func (t *timeline) stopped(node string, since int64) int64 {
	for _, d := range t.f.Downs(node) {
		if d.From >= since {
			return d.From
		}
	}
	return t.f.End
}

// full reports whether the drawing has the maximum of elements.
func (t *timeline) full() bool { return t.elements >= maxElements }
