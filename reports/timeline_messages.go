package reports

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/reports/results"
)

// manyArrows is the most requests and replies of a timeline. If there are more, it shows
// those of overlapping holds, and of the operations that prove a violation.
const manyArrows = 30

// drawArrows draws the messages between the lanes: requests, replies and
// replication. A lost one ends in a cross.
func (t *timeline) drawArrows() {
	var messages, copies strings.Builder
	calls := 0
	for _, a := range t.messages {
		if a.kind != replication && t.shown(a.sent, a.arrived) {
			calls++
		}
	}
	for _, a := range t.messages {
		if !t.shown(a.sent, a.sent) || a.kind != replication && calls > manyArrows && !t.tells(a.op) || t.full() {
			continue
		}
		x1, y1, x2, y2, ok := t.endsOf(a)
		switch {
		case !ok:
		case a.lost:
			t.drawLostArrow(a, x1, y1, y2)
		case a.kind == replication:
			arrow(&copies, x1, y1, x2, y2)
		default:
			arrow(&messages, x1, y1, x2, y2)
		}
	}
	t.path("message", messages.String(), "")
	t.path("copy", copies.String(), "")
}

// tells reports whether an operation belongs to an overlapping hold, or proves a
// violation.
func (t *timeline) tells(op int64) bool {
	return t.proven[op] || slices.ContainsFunc(t.both, func(o checker.Overlap) bool {
		return op != 0 && (o.A.AcquireOp == op || o.B.AcquireOp == op || o.A.EndOp == op || o.B.EndOp == op)
	})
}

// endsOf are the two ends of an arrow.
func (t *timeline) endsOf(a message) (x1, y1, x2, y2 float64, ok bool) {
	from, to := t.laneAt(a.from, a), t.laneAt(a.to, a)
	if from == nil || to == nil {
		return 0, 0, 0, 0, false
	}
	y1, y2 = from.barBottom(), to.bar()
	if from.y > to.y {
		y1, y2 = from.bar(), to.barBottom()
	}
	return t.x(a.sent), y1, t.x(a.arrived), y2, true
}

// laneAt is the lane of a client or of a node for an arrow.
func (t *timeline) laneAt(who string, a message) *lane {
	for i := range t.lanes {
		switch l := &t.lanes[i]; {
		case l.node == who && l.node != "" && l.key == a.key:
			return l
		case l.node == "" && l.client == who && (a.owner == "" || l.owner == "" || l.owner == a.owner):
			return l
		}
	}
	return nil
}

// bar and barBottom are the top and the bottom of the bars of a lane.
func (l *lane) bar() float64 {
	if l.roles {
		return l.y + 17
	}
	return l.y + l.above + 5
}

func (l *lane) barHeight() float64 {
	if l.node == "" {
		return 18
	}
	return 16
}

func (l *lane) barBottom() float64 { return l.bar() + l.barHeight() }

// arrow adds a line with a head to a path.
func arrow(b *strings.Builder, x1, y1, x2, y2 float64) {
	down := 1.0
	if y2 < y1 {
		down = -1
	}
	to := "L" + px(x2) + " " + px(y2)
	if px(x1) == px(x2) {
		to = "V" + px(y2)
	}
	fmt.Fprintf(b, "M%s %s%sm-3 %sl3 %s 3 %s", px(x1), px(y1), to, px(-5*down), px(5*down), px(-5*down))
}

// drawLostArrow draws a lost message, which ends in a cross before its target.
func (t *timeline) drawLostArrow(a message, x, y1, y2 float64) {
	end := min(x+26, t.right()-6)
	stop := t.between(y1, y2, y1+(y2-y1)*0.78)
	title := fmt.Sprintf("The reply of %s to %s at %s is lost: the caller does not learn what was done", english.Name(a.from), english.Name(a.to), history.At(a.sent))
	labels := []string{"reply lost"}
	if a.kind == replication {
		title = fmt.Sprintf("The lock of %s, granted on %s at %s, never reaches %s, which is promoted at %s",
			t.f.Holder(a.grants), english.Name(a.from), history.At(a.sent), english.Name(a.to), history.At(a.arrived))
		labels = []string{"never replicated", "not copied", "lost"}
	}
	t.share(title, func() {
		t.path("vanished", fmt.Sprintf("M%s %sL%s %s", px(x), px(y1), px(end), px(stop)), "")
		t.path("vanishes", fmt.Sprintf("M%s %sl9 9m0 -9l-9 9", px(end-4.5), px(stop-4.5)), "")
	})
	known := t.x(a.arrived)
	for _, label := range labels {
		w := textWidth(label)
		right, left := end+9, end-w-18
		// The label about the replica is on the other side.
		fits := right+w <= t.right() && known != x && (a.kind != replication || known < x || known >= right+w+4)
		if fits && t.write("vanishlabel", right, stop+4, label) || left >= timelineLeft && t.write("vanishlabel", left, stop+4, label) {
			return
		}
	}
	last := labels[len(labels)-1]
	t.write("vanishlabel", min(end+9, t.right()-textWidth(last)), stop+4, last)
}

// between is the height nearest to y that is between two others and below a bar. A label
// there covers no label of a bar. It is y if there is none.
func (t *timeline) between(y1, y2, y float64) float64 {
	best := math.Inf(1)
	for i := range t.lanes {
		l := &t.lanes[i]
		if below := l.barBottom() + 9; below > min(y1, y2) && below < max(y1, y2) && math.Abs(below-y) < math.Abs(best-y) {
			best = below
		}
	}
	if math.IsInf(best, 1) {
		return y
	}
	return best
}

// drawLease draws the servers' lease of a hold under its bar. It ends with the hold, or
// with the lease itself for an overlapping hold.
func (t *timeline) drawLease(l *lane, c *checker.Belief) {
	if c.LeaseTo == 0 {
		return
	}
	y := l.barBottom() + 5
	until := min(c.LeaseTo, c.To)
	if !t.overlaps(c) && !t.outlives(c) {
		t.line("leased", t.x(c.LeaseFrom), y, t.x(until), y, "")
		return
	}
	t.share(fmt.Sprintf("the lease of %s lasts from %s to %s", l.label, history.At(c.LeaseFrom), history.At(c.LeaseTo)), func() {
		t.line("leased", t.x(c.LeaseFrom), y, t.x(until), y, "")
		t.drawReach(c, y, until)
	})
}

// drawReach draws the lease of an overlapping hold from until to its end, or to
// the next hold of the same owner.
func (t *timeline) drawReach(c *checker.Belief, y float64, until int64) {
	next, end := t.to+1, c.LeaseTo
	for i := range t.f.Beliefs {
		if o := &t.f.Beliefs[i]; o.Owner == c.Owner && o.From > c.From {
			next = min(next, o.From)
		}
	}
	if to := min(end, next, t.to); to > until {
		t.path("leasing", "M"+px(t.x(until))+" "+px(y)+"H"+px(t.x(to)), "")
	}
	label, x := "lease to "+history.At(end), t.x(min(end, next, t.to))
	switch {
	case end < next && end <= t.to:
		label = "lease ends " + history.At(end)
		t.path("leaseend", "M"+px(x)+" "+px(y-5)+"v9", "")
		if w := textWidth(label); x+w+12 < t.right() {
			x += w + 10
		}
	case next > t.to:
		t.path("leaseend", "M"+px(x-5)+" "+px(y-3)+"l5 3l-5 3", "")
	}
	if left := x - textWidth(label) - 8; left > t.x(until)+4 || end < c.To && end <= t.to {
		t.write("leaselabel", left, y+4, label)
	}
}

// outlives reports whether a hold of a proof concerns the end of its lease.
func (t *timeline) outlives(c *checker.Belief) bool {
	return t.proof != nil && (c.EndedBy != "release" || c.LeaseTo < c.To || slices.Contains(t.proof.about, checker.Lease))
}

// overlaps reports whether a hold overlaps with another one at a time.
func (t *timeline) overlaps(c *checker.Belief) bool {
	return slices.ContainsFunc(t.both, func(o checker.Overlap) bool { return o.A == c || o.B == c })
}

// drawRoles labels the bars of a server with its roles, primary or replica, and marks a
// promotion. The name of a role leaves the room to the label of a lost replication.
func (t *timeline) drawRoles(l *lane) {
	if !l.roles { // the bar leaves no room above it, and the role never changes
		return
	}
	all := t.f.Roles[l.node]
	for i, r := range all {
		to := t.f.End
		if i+1 < len(all) {
			to = all[i+1].From
		}
		if !t.shown(r.From, to) {
			continue
		}
		class, word := "role replica", "replica"
		if r.Primary {
			class, word = "role primary", "primary"
		}
		x1, x2, y := t.x(r.From), t.x(to), l.y+13
		t.line(class, x1, y, x2, y, fmt.Sprintf("%s is a %s from %s", l.label, word, history.At(max(r.From, 0))))
		left := x1 + 4
		if r.Promoted && i > 0 {
			word = "promoted, primary"
			left += 8
			t.path("promoted", fmt.Sprintf("M%s %sl5 8h-10Z", px(x1), px(l.y+3)), fmt.Sprintf("%s is promoted at %s", l.label, history.At(r.From)))
			t.line("promotion", x1, l.y+11, x1, l.barBottom(), "")
		}
		if !r.Primary && i+1 < len(all) { // its end, beside the next label
			left = max(left, x2-textWidth(word)-10)
		}
		if left+textWidth(word) < x2 {
			t.names = append(t.names, func() { t.write("rolename", left, l.y+10, word) })
		}
	}
}

// drawNoKey says that a server lacks the key while a client holds the lock.
func (t *timeline) drawNoKey(l *lane, from, to int64) {
	from, to = max(from, t.from), min(to, t.to)
	for _, d := range t.f.Downs(l.node) {
		if d.From <= to && d.To >= from {
			if d.From-from > to-d.To {
				to = d.From
			} else {
				from = d.To
			}
		}
	}
	x1, x2 := t.x(from), t.x(to)
	held := slices.ContainsFunc(t.f.Beliefs, func(c checker.Belief) bool { return c.From < to && c.To > from })
	if !l.roles || !held || x2-x1 < textWidth("no such key")+40 {
		return
	}
	t.write("nokey", (x1+x2)/2, l.bar()+12, "no such key")
}

// spoken describes the picture for readers who cannot see it.
func (t *timeline) spoken(r *results.Run) string {
	clients := 0
	for i := range t.lanes {
		if t.lanes[i].node == "" {
			clients++
		}
	}
	words := fmt.Sprintf("Space-time diagram from %s to %s with %s and %s.", history.At(t.from), history.At(t.to), english.Count(clients, "owner"), english.Count(len(t.lanes)-clients, "server lane"))
	if r != nil {
		words = english.Name(r.Column()) + ": " + words
	}
	for _, o := range t.both[:min(2, len(t.both))] {
		words += " " + t.overlapTitle(o) + "."
	}
	return words
}
