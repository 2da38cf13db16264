package reports

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/holdfast-go/holdfast/checker"
)

// causeEdge is the right edge of labels.
const causeEdge = timelineWidth - 4

func (b *causeBar) label() string { return fmt.Sprintf("op %d %s", b.id, b.answer) }

// placeLabels finds rows for the labels of a lane's operations, from the last to
// the first. In this order the line from a bar up to its label does not cross the
// labels of later operations.
func (l *causeLane) placeLabels(p *causePicture) {
	l.rows.most = len(l.bars)
	for i := len(l.bars) - 1; i >= 0; i-- {
		b := &l.bars[i]
		w := textWidth(b.label())
		b.x = max(timelineLeft, min(p.axis.pos(b.op.invoke.Time), causeEdge-w-4))
		b.row, _ = l.rows.place(b.x, w+4)
	}
}

// drawLabels writes a label beside each bar of a lane.
func (p *causePicture) drawLabels(l *causeLane) {
	leaders := ""
	for i := range l.bars {
		b := &l.bars[i]
		leaders += "M" + px(p.axis.pos(b.op.invoke.Time)) + " " + px(l.bar+3) + "V" + px(l.bar-causeLabel*float64(b.row+1)+4)
	}
	p.path("leader", leaders, "")
	for i := range l.bars {
		b := &l.bars[i]
		p.text("says", b.x+4, l.bar-5-causeLabel*float64(b.row), b.label())
	}
	for _, c := range l.holds {
		p.nameHold(l, c)
		if end := c.LeaseTo; p.tells(c) {
			x, label := causeRight, "lease still runs"
			if p.axis.reaches(end) {
				x, label = p.axis.pos(end), "lease over"
			}
			p.text("note", x+6, l.leaseLine()+4, label)
		}
	}
}

// nameHold writes the length of a hold into its bar, where there is room.
func (p *causePicture) nameHold(l *causeLane, c *checker.Belief) {
	hold := stretch{p.axis.pos(c.From), p.axis.pos(c.To)}
	if !p.axis.reaches(c.To) {
		hold.x2 = causeRight - 12
	}
	taken := p.axis.breaks()
	for i := range l.bars {
		b := &l.bars[i]
		end, returned := b.ends()
		if !returned {
			end = p.f.end
		}
		taken = append(taken, stretch{p.axis.pos(b.op.invoke.Time), p.axis.pos(end)})
	}
	for _, x := range p.f.pauses(l.client) {
		pause := stretch{p.axis.pos(x.from), p.axis.pos(x.to)}
		if room := widest(pause, taken); room.x2-room.x1 > 60 {
			p.text("halo", (room.x1+room.x2)/2, l.bar+causeBand/2+4, "paused")
		}
		taken = append(taken, pause)
	}
	for _, o := range p.both { // whose edges cover the holds
		for _, at := range []int64{o.From, o.To} {
			taken = append(taken, stretch{p.axis.pos(at) - 1, p.axis.pos(at) + 1})
		}
	}
	room := widest(hold, taken)
	for _, label := range []string{"holds " + length(c.To-c.From), "holds"} {
		if textWidth(label)+10 <= room.x2-room.x1 {
			p.text("in", room.x1+5, l.bar+causeBand/2+4, label)
			return
		}
	}
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

// causeMark is a label above the lanes: an overlap, or the beginning of a
// violation.
type causeMark struct {
	text   string
	both   *checker.Overlap
	at     int64
	row    int
	placed bool
	x      float64
}

// placeMarks finds rows for the labels above the lanes.
func (p *causePicture) placeMarks(rows *labelRows) []causeMark {
	var marks []causeMark
	moments := p.moments()
	for i := range p.both {
		o := &p.both[i]
		m := causeMark{text: "two holders, " + length(o.To-o.From), both: o, at: o.From}
		// The overlap shows the violation of exclusion, which needs no label of
		// its own.
		if j := slices.IndexFunc(moments, func(m moment) bool { return m.exclusion && alike(m.at, o.From) }); j >= 0 {
			m.text = moments[j].about + " violated: " + m.text
			moments = slices.Delete(moments, j, j+1)
		}
		marks = append(marks, m)
	}
	for _, m := range moments {
		marks = append(marks, causeMark{text: m.about + " violated", at: m.at})
	}
	for i := range marks {
		m := &marks[i]
		w := boldWidth(m.text) + 6
		m.x = max(timelineLeft, min(p.axis.pos(m.at), causeEdge-w))
		m.row, m.placed = rows.place(m.x, w)
	}
	return marks
}

// drawMarks connects the labels above the lanes with their subjects.
func (p *causePicture) drawMarks(marks []causeMark) {
	for i := range marks {
		m := &marks[i]
		y := p.top
		if m.placed {
			y = 4 + causeLabel*float64(m.row)
		}
		x := p.axis.pos(m.at)
		if m.both == nil {
			p.line("moment", x, y, x, p.bottom, m.text+" from "+instant(m.at))
			continue
		}
		a, b := p.laneOf(m.both.A), p.laneOf(m.both.B)
		bottom := px(max(a.bar, b.bar) + causeBand + 4)
		p.path("bracket", "M"+px(x)+" "+bottom+"V"+px(y+15)+"H"+px(p.axis.pos(m.both.To))+"V"+bottom, "")
	}
	for i := range marks {
		if m := &marks[i]; m.placed {
			p.text("overlaplabel", m.x+3, 4+causeLabel*float64(m.row)+12, m.text)
		}
	}
}

// shadeOverlaps hatches the time of two holders in the lanes of both.
func (p *causePicture) shadeOverlaps() {
	for i := range p.both {
		o := &p.both[i]
		x1, x2 := p.axis.pos(o.From), p.axis.pos(o.To)
		for _, c := range []*checker.Belief{o.A, o.B} {
			p.rect("overlap", x1, p.laneOf(c).bar-4, max(x2-x1, 2), causeBand+8, p.bothTitle(o))
		}
	}
}

func (p *causePicture) bothTitle(o *checker.Overlap) string {
	return fmt.Sprintf("%s and %s both hold the lock, from %s for %s", name(o.A.Owner), name(o.B.Owner), instant(o.From), length(o.To-o.From))
}

func (p *causePicture) laneOf(c *checker.Belief) *causeLane {
	i := slices.IndexFunc(p.lanes, func(l causeLane) bool { return slices.Contains(l.holds, c) })
	return &p.lanes[i]
}

// drawAxis draws a tick for every instant, and labels as many as fit: those of
// the verdicts first.
func (p *causePicture) drawAxis() {
	first := []int64{}
	for _, m := range p.moments() {
		first = append(first, m.at)
	}
	for _, o := range p.both {
		first = append(first, o.From, o.To)
	}
	for i := range p.lanes {
		for _, c := range p.lanes[i].holds {
			first = append(first, c.From, c.To)
		}
	}
	rows := labelRows{most: 2}
	written := map[string]bool{}
	for _, at := range append(first, p.axis.at...) {
		label := instant(at)
		if !p.axis.reaches(at) || written[label] {
			continue
		}
		x, w := p.axis.pos(at), textWidth(label)
		if row, ok := rows.place(x-w/2, w); ok {
			written[label] = true
			p.text("tick", x, p.bottom+15+14*float64(row), label)
		}
	}
	grid := ""
	for _, x := range p.axis.x {
		grid += "M" + px(x) + " " + px(p.top) + "V" + px(p.bottom+4)
	}
	p.path("grid", grid, "")
	p.line("axis", timelineLeft, p.bottom, causeRight, p.bottom, "")
}

// drawBreak cuts the lanes and the axis where the axis leaves time out.
func (p *causePicture) drawBreak(s stretch) {
	x1, x2 := s.x1+8, s.x2-8
	p.rect("torn", x1, p.top, x2-x1, p.bottom+6-p.top, "")
	for _, x := range []float64{x1, x2} {
		d := "M" + px(x) + " " + px(p.top)
		for y := p.top; y < p.bottom; y += 12 {
			d += "l3 3l-6 6l3 3"
		}
		p.path("tear", d, "time was left out here")
	}
}
