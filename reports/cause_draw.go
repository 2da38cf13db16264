package reports

import (
	"fmt"
	"html"
	"html/template"
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/reports/results"
)

// The measures of a cause's picture, beside those of a timeline. It has the same
// width, but time ends earlier, which leaves room for the last labels.
const (
	causeRight = 860.0
	causeBand  = 20.0 // height of a hold
	causeLabel = 16.0 // height of a row of labels
)

// causePicture draws a cause as lanes of owners: the requests of each owner and
// their results, its holds, and the contradictions between holds.
type causePicture struct {
	drawing
	f      *facts
	r      *results.Run
	c      cause
	axis   brokenAxis
	lanes  []causeLane
	both   []checker.Overlap // of the drawn holds
	top    float64
	bottom float64
}

// drawCause returns the picture of a cause as SVG. It is empty if the history has
// none of its operations.
func drawCause(f *facts, r *results.Run, c cause) template.HTML {
	p := &causePicture{f: f, r: r, c: c, lanes: lanesOf(f, c)}
	if len(p.lanes) == 0 {
		return ""
	}
	p.findOverlaps()
	p.axis = newBrokenAxis(p.instants(), timelineLeft+10, causeRight-24, func(from, to int64) bool {
		return slices.ContainsFunc(p.both, func(o checker.Overlap) bool { return from < o.To && to > o.From })
	})
	body := p.body()
	// The parts were escaped when they were drawn.
	return template.HTML(fmt.Sprintf(`<svg class="timeline cause" viewBox="0 0 %s %s" role="img" aria-label="%s">`+"\n%s</svg>\n",
		px(timelineWidth), px(p.bottom+38), html.EscapeString(p.inWords()), body))
}

// inWords describes the picture for readers who cannot see it.
func (p *causePicture) inWords() string {
	var parts []string
	for i := range p.lanes {
		for _, b := range p.lanes[i].bars {
			parts = append(parts, name(p.lanes[i].owner)+" at "+instant(b.op.invoke.Time)+": "+b.label())
		}
	}
	return "Owner lanes. " + strings.Join(parts, "; ") + "."
}

// findOverlaps finds the times in which two drawn holds contradict each other.
func (p *causePicture) findOverlaps() {
	drawn := func(c *checker.Belief) bool {
		return slices.ContainsFunc(p.lanes, func(l causeLane) bool { return slices.Contains(l.holds, c) })
	}
	for _, o := range p.f.overlaps {
		if drawn(o.A) && drawn(o.B) {
			p.both = append(p.both, o)
		}
	}
}

// instants are the moments that the axis must reach.
func (p *causePicture) instants() []int64 {
	var out []int64
	for i := range p.lanes {
		for j := range p.lanes[i].bars {
			b := &p.lanes[i].bars[j]
			out = append(out, b.op.invoke.Time)
			if end, returned := b.ends(); returned {
				out = append(out, end)
			} else if at, gone := p.goneIn(b); gone {
				out = append(out, at)
			}
		}
		for _, c := range p.lanes[i].holds {
			out = append(out, c.From)
			if c.EndedBy == "lost" || c.EndedBy == "crash" {
				out = append(out, c.To)
			}
		}
	}
	for _, o := range p.both {
		out = append(out, o.From, o.To)
	}
	for _, m := range p.moments() {
		out = append(out, m.at)
	}
	// The end of a lease is informative, but justifies a longer axis only if the
	// lease was violated.
	last := slices.Max(out)
	for i := range p.lanes {
		for _, c := range p.lanes[i].holds {
			if end := c.LeaseTo; end > 0 && (end <= last || slices.Contains(p.c.about, checker.Lease)) {
				out = append(out, end)
			}
		}
	}
	return out
}

// tells reports whether the lease of a hold is worth drawing. It is not if the owner
// released the hold in time and nobody contradicted it.
func (p *causePicture) tells(c *checker.Belief) bool {
	return c.LeaseTo > 0 && (c.EndedBy != "release" || c.LeaseTo < c.To || slices.Contains(p.c.about, checker.Lease) ||
		slices.ContainsFunc(p.both, func(o checker.Overlap) bool { return o.A == c }))
}

// moment is when some properties began to be violated.
type moment struct {
	at        int64
	about     string
	exclusion bool // one of them
}

// moments lists when the properties of a cause began to be violated. Moments that
// a reader cannot distinguish are one.
func (p *causePicture) moments() []moment {
	var out []moment
	for _, q := range p.c.about {
		at := int64(p.r.Verdicts[q].AtMS*1e6 + 0.5)
		if at <= 0 || at > p.f.end {
			continue
		}
		i := slices.IndexFunc(out, func(m moment) bool { return alike(at, m.at) })
		if i >= 0 {
			out[i].about += ", " + clean(string(q))
			continue
		}
		out = append(out, moment{at, clean(string(q)), q == checker.Exclusion})
	}
	return out
}

// alike reports whether a reader cannot distinguish two instants.
func alike(a, b int64) bool { return max(a, b)-min(a, b) < 2e6 }

// body draws from the back to the front. The labels determine the positions of
// the lanes, so body places them first.
func (p *causePicture) body() string {
	var above labelRows
	above.most = 4
	marks := p.placeMarks(&above)
	y := 6 + causeLabel*float64(len(above.rows))
	p.top = y
	for i := range p.lanes {
		l := &p.lanes[i]
		l.placeLabels(p)
		l.top = y
		l.bar = y + 6 + causeLabel*float64(len(l.rows.rows))
		y = l.bar + causeBand + 8
		if slices.ContainsFunc(l.holds, p.tells) {
			y += 11
		}
	}
	p.bottom = y

	p.drawAxis()
	p.shadeOverlaps()
	for i := range p.lanes {
		p.drawLane(&p.lanes[i])
	}
	for _, s := range p.axis.breaks() {
		p.drawBreak(s)
	}
	p.drawMarks(marks)
	for i := range p.lanes {
		p.drawLabels(&p.lanes[i])
	}
	return p.b.String()
}

// drawLane draws the holds of an owner, and over them its operations.
func (p *causePicture) drawLane(l *causeLane) {
	p.text("lane", 4, l.bar+causeBand/2+4, fit(name(l.owner), timelineLeft-16))
	p.line("rule", timelineLeft, p.laneEnd(l), causeRight, p.laneEnd(l), "")
	colour := max(0, slices.Index(p.f.clients, l.client)) % 8
	for _, c := range l.holds {
		p.drawHold(l, c, colour)
	}
	for _, x := range p.f.pauses(l.client) {
		if x1, x2 := p.axis.pos(x.from), p.axis.pos(x.to); x2-x1 >= 2 {
			p.rect("paused", x1, l.bar-3, x2-x1, causeBand+6, fmt.Sprintf("%s is paused from %s, %s", name(l.client), instant(x.from), length(x.to-x.from)))
		}
	}
	for i := range l.bars {
		b := &l.bars[i]
		p.drawOperation(l, b)
		if at, gone := p.goneIn(b); gone {
			p.crashMark(p.axis.pos(at), l.bar+causeBand/2, fmt.Sprintf("%s is gone at %s", name(l.client), instant(at)))
		}
	}
	for _, c := range l.holds {
		x, y := p.axis.pos(c.To), l.bar+causeBand/2
		switch {
		case !p.axis.reaches(c.To):
		case c.EndedBy == "lost":
			p.lostMark(x, y, fmt.Sprintf("%s learns at %s that its hold is lost", name(l.owner), instant(c.To)))
		case c.EndedBy == "crash":
			p.crashMark(x, y, fmt.Sprintf("%s is gone at %s", name(l.client), instant(c.To)))
		}
	}
}

// goneIn is when the client of an open operation died.
func (p *causePicture) goneIn(b *causeBar) (int64, bool) {
	if _, returned := b.ends(); returned {
		return 0, false
	}
	for i := p.f.index(b.op.invoke.Time); i < len(p.f.h.Events); i++ {
		if e := &p.f.h.Events[i]; e.Kind == history.Note && e.F == history.Crashed && e.Client == b.op.invoke.Client {
			return e.Time, true
		}
	}
	return 0, false
}

func (p *causePicture) laneEnd(l *causeLane) float64 {
	for i := range p.lanes {
		if &p.lanes[i] == l && i+1 < len(p.lanes) {
			return p.lanes[i+1].top
		}
	}
	return p.bottom
}

// drawHold draws a certain hold: from the return of the acquire to the
// invocation of the release that ended it.
func (p *causePicture) drawHold(l *causeLane, c *checker.Belief, colour int) {
	x1, x2 := p.axis.pos(c.From), p.axis.pos(c.To)
	goesOn := !p.axis.reaches(c.To)
	if goesOn {
		x2 = causeRight
	}
	title := fmt.Sprintf("%s certainly holds the lock from %s to %s, %s", name(l.owner), instant(c.From), instant(c.To), length(c.To-c.From))
	p.rect(fmt.Sprintf("hold c%d", colour), x1, l.bar, max(x2-x1, 1.5), causeBand, title)
	if goesOn {
		p.path("on", fmt.Sprintf("M%s %sl5 6l-5 6", px(x2-10), px(l.bar+causeBand/2-6)), "")
	}
	from, to := c.LeaseFrom, c.LeaseTo
	if !p.tells(c) {
		return
	}
	x1, x2 = p.axis.pos(from), causeRight
	end := "m-4 -3l4 3l-4 3"
	if p.axis.reaches(to) {
		x2, end = p.axis.pos(to), "m0 -4v8"
	}
	p.path("lease", "M"+px(x1)+" "+px(l.leaseLine())+"H"+px(x2)+end,
		fmt.Sprintf("the lease of %s lasts from %s to %s", name(l.owner), instant(from), instant(to)))
}

// leaseLine is the height at which leases are drawn, below the bars.
func (l *causeLane) leaseLine() float64 { return l.bar + causeBand + 7 }

// drawOperation draws the box of an operation, from its invocation to its return.
// An open operation fades towards the edge.
func (p *causePicture) drawOperation(l *causeLane, b *causeBar) {
	e := b.op.invoke
	x1, x2, class := p.axis.pos(e.Time), causeRight, "op"
	title := fmt.Sprintf("operation %d of %s, %s", b.id, name(l.owner), instant(e.Time))
	end, returned := b.ends()
	switch {
	case !returned:
		class = "op open"
	case b.op.done.Kind == history.Info:
		class = "op unclear"
	case e.F == history.Acquire:
		class = "op waits"
	}
	if returned {
		x2 = p.axis.pos(end)
		title += " to " + instant(end) + ", " + length(end-e.Time)
	}
	p.rect(class, x1, l.bar+3, max(x2-x1, 4), causeBand-6, title+": "+b.answer)
}
