package reports

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/internal/story"
)

// placed is a label in a row above the lanes.
type placed struct {
	index int // of the fault or overlap
	row   int
	x     float64
	text  string // empty: no room for a label
}

// placed finds a row for a label from x, or further to the left if it would pass the edge.
func (l *labelRows) placed(index int, text string, x, w, edge float64) placed {
	p := placed{index: index, x: max(timelineLeft, min(x, edge-w))}
	if row, ok := l.place(p.x, w); ok {
		p.row, p.text = row, text
	}
	return p
}

// placeFaults finds rows for the faults' labels.
func (t *timeline) placeFaults() []placed {
	t.faultRows.most = 5
	var out []placed
	for i, x := range t.f.Faults {
		if x.Failed() || !t.shown(x.From, x.To) {
			continue
		}
		text := story.FaultName(x.Name, x.Targets)
		if x.Lasted() {
			text += ", " + length(x.To-x.From)
		}
		text = english.Short(text, 60)
		out = append(out, t.faultRows.placed(i, text, t.x(x.From), textWidth(text)+4, t.right()))
	}
	return out
}

// drawFaults shades the time of every fault across all lanes.
func (t *timeline) drawFaults(all []placed) {
	for _, p := range all {
		x := t.f.Faults[p.index]
		x1, x2 := t.x(x.From), t.x(x.To)
		y := 4 + labelHeight*float64(p.row)
		if p.text == "" {
			y = t.top
		}
		title := story.FaultName(x.Name, x.Targets) + " at " + history.At(x.From)
		if x.Lasted() {
			title += " for " + length(x.To-x.From)
		}
		if x.Detail != "" {
			title += ": " + x.Detail
		}
		t.share(title, func() {
			if x.Lasted() {
				t.rect("fault", x1, y, max(x2-x1, 1), t.bottom-y, "")
			}
			t.line("faultline", x1, y, x1, t.bottom, "")
		})
		if p.text != "" {
			t.text("faultlabel", p.x+4, y+12, p.text)
		}
	}
}

// placeOverlaps finds rows for the labels that measure overlaps. The longest come
// first, so that the short ones go without if room runs out.
func (t *timeline) placeOverlaps() []placed {
	t.markRows.most = 2
	var out []placed
	for i, o := range t.both {
		if t.shown(o.From, o.To) {
			out = append(out, placed{index: i})
		}
	}
	slices.SortStableFunc(out, func(a, b placed) int {
		x, y := t.both[a.index], t.both[b.index]
		return cmp.Compare(y.To-y.From, x.To-x.From)
	})
	// Rows fill from left to right, so it chooses a few labels first and then
	// places them in order of time.
	chosen := out[:min(len(out), 4)]
	slices.SortStableFunc(chosen, func(a, b placed) int { return a.index - b.index })
	for i := range chosen {
		p, o := &chosen[i], t.both[chosen[i].index]
		if i > 0 && o.From == t.both[chosen[i-1].index].From && o.To == t.both[chosen[i-1].index].To {
			continue // the same crowd, of which each pair is an overlap
		}
		text, edge := t.f.CrowdOf(o)+", "+length(o.To-o.From), t.right()
		if t.proof != nil {
			text, edge = t.proof.violatedBy(o)+text, labelEdge
		}
		w, mid := boldWidth(text)+6, (t.x(o.From)+t.x(o.To))/2
		*p = t.markRows.placed(p.index, text, mid-w/2, w, edge)
	}
	return out
}

// shadeOverlaps hatches the time of two holders in the lanes of both, behind their bars.
func (t *timeline) shadeOverlaps(all []placed) {
	for _, p := range all {
		if t.full() && p.text == "" {
			continue
		}
		o := t.both[p.index]
		x1, x2 := t.x(o.From), t.x(o.To)
		t.share(t.overlapTitle(o), func() {
			for _, c := range []*checker.Belief{o.A, o.B} {
				if l := t.laneOf(c.Client, c.Owner); l != nil {
					t.rect("overlap", x1, l.y+l.above+1, max(x2-x1, 2), l.height-2, "")
				}
			}
		})
	}
}

// drawOverlaps connects the lanes of two holders with a bracket that carries the measure.
func (t *timeline) drawOverlaps(all []placed) {
	for _, p := range all {
		o := t.both[p.index]
		a, b := t.laneOf(o.A.Client, o.A.Owner), t.laneOf(o.B.Client, o.B.Owner)
		if a == nil || b == nil || t.full() && p.text == "" {
			continue
		}
		if a.y > b.y {
			a, b = b, a
		}
		x1 := t.x(o.From)
		x2 := max(t.x(o.To), x1+2)
		from := a.y + a.above + 1
		if p.text != "" {
			y := 4 + labelHeight*float64(len(t.faultRows.rows)+p.row)
			from = y + 15
			t.text("overlaplabel", p.x+3, y+12, p.text)
		}
		bottom := px(b.y + b.above + b.height - 1)
		t.path("bracket", "M"+px(x1)+" "+bottom+"V"+px(from)+"H"+px(x2)+"V"+bottom, "") // the hatching has the title
	}
}

func (t *timeline) overlapTitle(o checker.Overlap) string {
	return fmt.Sprintf("%s and %s both believe that they hold the lock, from %s for %s",
		t.f.NameOf(o.A.Client, o.A.Owner), t.f.NameOf(o.B.Client, o.B.Owner), history.At(o.From), length(o.To-o.From))
}

func (t *timeline) laneOf(client, owner string) *lane {
	for i := range t.lanes {
		if l := &t.lanes[i]; l.node == "" && l.client == client && (l.owner == owner || l.owner == "") {
			return l
		}
	}
	return nil
}

// drawLost marks the writes that overwrote a value their writer never saw.
func (t *timeline) drawLost() {
	for _, u := range t.f.Lost {
		l := t.laneOf(u.Event.Client, u.Event.Owner)
		if l == nil || !t.shown(u.Event.Time, u.Event.Time) || t.full() {
			continue
		}
		x, y := t.x(u.Event.Time), l.barBottom()+3
		t.path("lostupdate", "M"+px(x)+" "+px(y-9)+"l5 9h-10Z", fmt.Sprintf("lost update at %s: %s writes %d over %d, and had read %d",
			history.At(u.Event.Time), l.label, u.Args.Value, u.Event.Result.Value, u.Args.Base))
	}
}
