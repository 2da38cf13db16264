package reports

import (
	"fmt"
	"slices"

	"github.com/holdfast-go/holdfast/checker"
)

// placed is a label in a row above the lanes.
type placed struct {
	index int // of the fault or overlap
	row   int
	x     float64
	text  string // empty: no room for a label
}

// placeFaults finds rows for the faults' labels.
func (t *timeline) placeFaults() []placed {
	t.faultRows.most = 5
	var out []placed
	for i, x := range t.f.faults {
		if x.failed || !t.shown(x.from, x.to) {
			continue
		}
		text := faultName(x.name, x.targets)
		if x.lasted {
			text += ", " + length(x.to-x.from)
		}
		text = short(text, 60)
		p := placed{index: i, x: t.x(x.from)}
		w := textWidth(text) + 4
		p.x = max(timelineLeft, min(p.x, t.right()-w))
		if row, ok := t.faultRows.place(p.x, w); ok {
			p.row, p.text = row, text
		}
		out = append(out, p)
	}
	return out
}

// drawFaults shades the time of every fault across all lanes.
func (t *timeline) drawFaults(all []placed) {
	for _, p := range all {
		x := t.f.faults[p.index]
		x1, x2 := t.x(x.from), t.x(x.to)
		y := 4 + labelHeight*float64(p.row)
		if p.text == "" {
			y = t.top
		}
		title := faultName(x.name, x.targets) + " at " + instant(x.from)
		if x.lasted {
			title += " for " + length(x.to-x.from)
		}
		if x.detail != "" {
			title += ": " + x.detail
		}
		t.share(title, func() {
			if x.lasted {
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
	for i, o := range t.f.overlaps {
		if t.shown(o.from, o.to) {
			out = append(out, placed{index: i})
		}
	}
	slices.SortStableFunc(out, func(a, b placed) int {
		x, y := t.f.overlaps[a.index], t.f.overlaps[b.index]
		switch lx, ly := x.to-x.from, y.to-y.from; {
		case lx > ly:
			return -1
		case lx < ly:
			return 1
		}
		return 0
	})
	// Rows fill from left to right, so it chooses a few labels first and then
	// places them in order of time.
	chosen := out[:min(len(out), 4)]
	slices.SortStableFunc(chosen, func(a, b placed) int { return a.index - b.index })
	for i := range chosen {
		p := &chosen[i]
		o := t.f.overlaps[p.index]
		text := "two holders, " + length(o.to-o.from)
		w := boldWidth(text) + 6
		mid := (t.x(o.from) + t.x(o.to)) / 2
		p.x = max(timelineLeft, min(mid-w/2, t.right()-w))
		if row, ok := t.markRows.place(p.x, w); ok {
			p.row, p.text = row, text
		}
	}
	return out
}

// shadeOverlaps hatches the time of two holders in the lanes of both, behind
// their bars.
func (t *timeline) shadeOverlaps(all []placed) {
	for _, p := range all {
		if t.full() && p.text == "" {
			continue
		}
		o := t.f.overlaps[p.index]
		x1, x2 := t.x(o.from), t.x(o.to)
		t.share(t.overlapTitle(o), func() {
			for _, c := range []*checker.Belief{o.a, o.b} {
				if l := t.laneOf(c.Client, c.Owner); l != nil {
					t.rect("overlap", x1, l.y+1, max(x2-x1, 2), l.height-2, "")
				}
			}
		})
	}
}

// drawOverlaps connects the lanes of two holders with a bracket that carries the
// measure.
func (t *timeline) drawOverlaps(all []placed) {
	for _, p := range all {
		o := t.f.overlaps[p.index]
		a, b := t.laneOf(o.a.Client, o.a.Owner), t.laneOf(o.b.Client, o.b.Owner)
		if a == nil || b == nil || t.full() && p.text == "" {
			continue
		}
		if a.y > b.y {
			a, b = b, a
		}
		x1 := t.x(o.from)
		x2 := max(t.x(o.to), x1+2)
		from := a.y + 1
		if p.text != "" {
			y := 4 + labelHeight*float64(len(t.faultRows.rows)+p.row)
			from = y + 15
			t.text("overlaplabel", p.x+3, y+12, p.text)
		}
		bottom := px(b.y + b.height - 1)
		t.path("bracket", "M"+px(x1)+" "+bottom+"V"+px(from)+"H"+px(x2)+"V"+bottom, t.overlapTitle(o))
	}
}

func (t *timeline) overlapTitle(o overlap) string {
	return fmt.Sprintf("%s and %s both believe that they hold the lock, from %s for %s",
		t.f.who(o.a.Client, o.a.Owner), t.f.who(o.b.Client, o.b.Owner), instant(o.from), length(o.to-o.from))
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
	for _, u := range t.f.lost {
		l := t.laneOf(u.event.Client, u.event.Owner)
		if l == nil || !t.shown(u.event.Time, u.event.Time) || t.full() {
			continue
		}
		x, y := t.x(u.event.Time), l.barBottom()+3
		t.path("lostupdate", "M"+px(x)+" "+px(y-9)+"l5 9h-10Z", fmt.Sprintf("lost update at %s: %s writes %d over %d, and had read %d",
			instant(u.event.Time), l.label, u.args.Value, u.event.Result.Value, u.args.Base))
	}
}
