package reports

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/internal/story"
	"github.com/holdfast-go/holdfast/reports/results"
)

// The measures of a timeline of a proof. Time ends earlier than in other timelines,
// which leaves room for the last labels.
const (
	proofRight = 860.0
	labelEdge  = timelineWidth - 4 // of the labels
	axisApart  = 7.0               // least distance of two instants
	axisBreak  = 40.0              // width of a break
)

// proving is the part of a timeline that shows a proof. It has the operations that prove
// a violation, with their results, and the moments of the violations.
type proving struct {
	about   []checker.Property
	ops     []*provingOp // by their call
	moments []moment
}

// provingOp is an operation of a proof.
type provingOp struct {
	*story.Operation
	id    int64
	label string
	row   int     // of the label
	x     float64 // of the label
}

// ends is when an operation returned, or when its client died. ok is false for an open
// one of a client that lives.
func (t *timeline) ends(o *provingOp) (at int64, ok bool) {
	if o.Done != nil {
		return o.Done.Time, true
	}
	for i := t.f.Index(o.Invoke.Time); i < len(t.f.History.Events); i++ {
		if e := &t.f.History.Events[i]; e.Kind == history.Note && e.F == history.Crashed && e.Client == o.Invoke.Client {
			return e.Time, true
		}
	}
	return 0, false
}

// moment is when some properties began to be violated.
type moment struct {
	at        int64
	about     string
	exclusion bool // one of them
}

// momentsOf lists when the properties of a proof began to be violated. Moments that a
// reader cannot distinguish are one.
func momentsOf(f *story.Facts, r *results.Run, about []checker.Property) []moment {
	var out []moment
	for _, q := range about {
		at := int64(r.Verdicts[q].AtMS*1e6 + 0.5)
		if at <= 0 || at > f.End {
			continue
		}
		i := slices.IndexFunc(out, func(m moment) bool { return alike(at, m.at) })
		if i >= 0 {
			out[i].about += ", " + english.Clean(string(q))
			continue
		}
		out = append(out, moment{at, english.Clean(string(q)), q == checker.Exclusion})
	}
	return out
}

// alike reports whether a reader cannot distinguish two instants.
func alike(a, b int64) bool { return max(a, b)-min(a, b) < 2e6 }

// drawProof returns the picture of a proof as SVG: a timeline of the owners involved, on
// an axis that leaves time out. It is empty if the history has none of the operations.
func drawProof(f *story.Facts, r *results.Run, of proof) template.HTML {
	t := newTimeline(f, r, &timeAxis{})
	t.proof = &proving{about: of.about, moments: momentsOf(f, r, of.about)}
	for _, id := range of.ops {
		if op := f.Ops[id]; op != nil {
			t.proof.ops = append(t.proof.ops, &provingOp{Operation: op, id: id, label: fmt.Sprintf("op %d %s", id, answer(f, op))})
		}
	}
	if len(t.proof.ops) == 0 {
		return ""
	}
	slices.SortStableFunc(t.proof.ops, func(a, b *provingOp) int { return cmp.Compare(a.Invoke.Time, b.Invoke.Time) })
	for _, o := range t.proof.ops {
		e := o.Invoke
		i := slices.IndexFunc(t.lanes, func(l lane) bool { return l.client == e.Client && l.owner == e.Owner })
		if i < 0 {
			i = len(t.lanes)
			t.lanes = append(t.lanes, lane{client: e.Client, owner: e.Owner, label: english.Name(e.Owner), height: clientLane})
		}
		t.lanes[i].ops = append(t.lanes[i].ops, o)
	}
	slices.SortStableFunc(t.lanes, func(a, b lane) int { return story.Natural(a.owner, b.owner) })
	t.both = slices.DeleteFunc(slices.Clone(f.Overlaps), func(o checker.Overlap) bool { return !t.proves(o.A) || !t.proves(o.B) })
	t.broken = story.NewAxis(t.instants(), timelineLeft+10, proofRight-24, proofRight, axisApart, axisBreak, func(from, to int64) bool {
		return slices.ContainsFunc(t.both, func(o checker.Overlap) bool { return from < o.To && to > o.From })
	})
	t.from, t.to = t.broken.At[0], t.broken.At[len(t.broken.At)-1]
	return t.svg(`class="timeline cause"`, "Owner lanes. "+t.provenInWords()+".")
}

// provenInWords describes the operations for readers who cannot see them.
func (t *timeline) provenInWords() string {
	var parts []string
	for i := range t.lanes {
		for _, o := range t.lanes[i].ops {
			parts = append(parts, english.Name(t.lanes[i].owner)+" at "+history.At(o.Invoke.Time)+": "+o.label)
		}
	}
	return strings.Join(parts, "; ")
}

// proves reports whether a hold belongs to the proof: an operation of the proof began or
// ended it, or ran within it.
func (t *timeline) proves(c *checker.Belief) bool {
	return slices.ContainsFunc(t.proof.ops, func(o *provingOp) bool {
		e := o.Invoke
		began := o.id == c.AcquireOp || o.id == c.EndOp
		within := e.Lock == c.Lock && e.Time < c.To && (o.Done == nil || o.Done.Time > c.From)
		return e.Client == c.Client && e.Owner == c.Owner && (began || within)
	})
}

// instants are the moments that the axis must reach.
func (t *timeline) instants() []int64 {
	var out []int64
	for _, o := range t.proof.ops {
		out = append(out, o.Invoke.Time)
		if end, ok := t.ends(o); ok {
			out = append(out, end)
		}
	}
	for i := range t.f.Beliefs {
		if c := &t.f.Beliefs[i]; t.proves(c) {
			out = append(out, c.From)
			if c.EndedBy == "lost" || c.EndedBy == "crash" {
				out = append(out, c.To)
			}
		}
	}
	for _, o := range t.both {
		out = append(out, o.From, o.To)
	}
	for _, m := range t.proof.moments {
		out = append(out, m.at)
	}
	// The end of a lease is informative, but justifies a longer axis only if the
	// lease was violated.
	last := slices.Max(out)
	for i := range t.f.Beliefs {
		if c := &t.f.Beliefs[i]; t.proves(c) && c.LeaseTo > 0 && (c.LeaseTo <= last || slices.Contains(t.proof.about, checker.Lease)) {
			out = append(out, c.LeaseTo)
		}
	}
	return out
}

// placeLabels finds rows for the labels of a lane's operations, from the last to
// the first. In this order the line from a bar up to its label does not cross the
// labels of later operations.
func (t *timeline) placeLabels(l *lane) {
	rows := labelRows{most: len(l.ops)}
	for _, o := range slices.Backward(l.ops) {
		w := textWidth(o.label)
		o.x = max(timelineLeft, min(t.x(o.Invoke.Time), labelEdge-w-4))
		o.row, _ = rows.place(o.x, w+4)
	}
	l.above = labelHeight * float64(len(rows.rows))
}

// drawOps draws the boxes of a lane's operations, from the call to the return. An open
// operation fades towards the edge.
func (t *timeline) drawOps(l *lane) {
	for _, o := range l.ops {
		e, class, y := o.Invoke, "op", l.bar()
		title := fmt.Sprintf("operation %d of %s, %s", o.id, english.Name(l.owner), history.At(e.Time))
		x1, x2 := t.x(e.Time), proofRight
		switch {
		case o.Done == nil:
			class = "op open"
		case o.Done.Kind == history.Info:
			class = "op unclear"
		case e.F == history.Acquire:
			class = "op waits"
		}
		if o.Done != nil {
			x2 = t.x(o.Done.Time)
			title += " to " + history.At(o.Done.Time) + ", " + length(o.Done.Time-e.Time)
		}
		t.rect(class, x1, y+3, max(x2-x1, 4), l.barHeight()-6, title+": "+o.label)
	}
}

// drawLabels writes a label over each box of a lane.
func (t *timeline) drawLabels(l *lane) {
	leaders := ""
	for _, o := range l.ops {
		leaders += "M" + px(t.x(o.Invoke.Time)) + " " + px(l.bar()+3) + "V" + px(l.bar()-labelHeight*float64(o.row+1)+4)
	}
	t.path("leader", leaders, "")
	for _, o := range l.ops {
		t.text("says", o.x+4, l.bar()-5-labelHeight*float64(o.row), o.label)
	}
}

// room is the widest free part of a hold in a lane. The operations, their client's
// pauses, the edges of overlaps and the breaks of the axis take the rest.
func (t *timeline) room(l *lane, hold stretch) stretch {
	if t.proof == nil {
		return hold
	}
	var taken []stretch
	for _, b := range t.broken.Breaks() {
		taken = append(taken, stretch{b[0], b[1]})
	}
	for _, o := range l.ops {
		end := t.f.End
		if o.Done != nil {
			end = o.Done.Time
		}
		taken = append(taken, stretch{t.x(o.Invoke.Time), t.x(end)})
	}
	for _, x := range t.f.Pauses(l.client) {
		taken = append(taken, stretch{t.x(x.From), t.x(x.To)})
	}
	for _, o := range t.both {
		for _, at := range []int64{o.From, o.To} {
			taken = append(taken, stretch{t.x(at) - 1, t.x(at) + 1})
		}
	}
	return widest(hold, taken)
}

// widest is the widest free part of a stretch.
func widest(of stretch, taken []stretch) stretch {
	free := []stretch{of}
	for _, t := range taken {
		var rest []stretch
		for _, s := range free {
			rest = append(rest, stretch{s.x1, min(s.x2, t.x1)}, stretch{max(s.x1, t.x2), s.x2})
		}
		free = rest
	}
	return slices.MaxFunc(free, func(a, b stretch) int { return cmp.Compare(a.x2-a.x1, b.x2-b.x1) })
}

// violatedBy says that an overlap violates exclusion; "" if no verdict says so.
func (p *proving) violatedBy(o checker.Overlap) string {
	for _, m := range p.moments {
		if m.exclusion && alike(m.at, o.From) {
			return m.about + " violated: "
		}
	}
	return ""
}

// placeMoments finds rows for the labels of the violations that no overlap shows.
func (t *timeline) placeMoments() []placed {
	var out []placed
	for i, m := range t.proof.moments {
		if slices.ContainsFunc(t.both, func(o checker.Overlap) bool { return m.exclusion && alike(m.at, o.From) }) {
			continue
		}
		text := m.about + " violated"
		out = append(out, t.markRows.placed(i, text, t.x(m.at), boldWidth(text)+6, labelEdge))
	}
	return out
}

// drawMoments draws a line through all lanes where a violation begins.
func (t *timeline) drawMoments(all []placed) {
	for _, p := range all {
		m := t.proof.moments[p.index]
		x, y := t.x(m.at), t.top
		if p.text != "" {
			y = 4 + labelHeight*float64(p.row)
			t.text("overlaplabel", p.x+3, y+12, p.text)
		}
		t.line("moment", x, y, x, t.bottom, m.about+" violated from "+history.At(m.at))
	}
}

// drawInstants draws a tick for every instant of a broken axis, and labels as many as
// fit: those of the verdicts first.
func (t *timeline) drawInstants() {
	var first []int64
	for _, m := range t.proof.moments {
		first = append(first, m.at)
	}
	for _, o := range t.both {
		first = append(first, o.From, o.To)
	}
	for i := range t.f.Beliefs {
		if c := &t.f.Beliefs[i]; t.proves(c) {
			first = append(first, c.From, c.To)
		}
	}
	rows := labelRows{most: 2}
	written := map[string]bool{}
	for _, at := range append(first, t.broken.At...) {
		label := history.At(at)
		if !t.shown(at, at) || written[label] {
			continue
		}
		x, w := t.x(at), textWidth(label)
		if row, ok := rows.place(x-w/2, w); ok {
			written[label] = true
			t.text("tick", x, t.bottom+15+14*float64(row), label)
		}
	}
	grid := ""
	for _, x := range t.broken.X {
		grid += "M" + px(x) + " " + px(t.top) + "V" + px(t.bottom+4)
	}
	t.path("grid", grid, "")
}

// drawBreaks cuts the lanes and the axis where the axis leaves time out.
func (t *timeline) drawBreaks() {
	for _, s := range t.broken.Breaks() {
		x1, x2 := s[0]+8, s[1]-8
		t.rect("torn", x1, t.top, x2-x1, t.bottom+6-t.top, "")
		for _, x := range []float64{x1, x2} {
			d := "M" + px(x) + " " + px(t.top)
			for y := t.top; y < t.bottom; y += 12 {
				d += "l3 3l-6 6l3 3"
			}
			t.path("tear", d, "time was left out here")
		}
	}
}
