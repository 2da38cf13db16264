package reports

import (
	"cmp"
	"fmt"
	"html"
	"html/template"
	"math"
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/internal/party"
	"github.com/holdfast-go/holdfast/internal/story"
	"github.com/holdfast-go/holdfast/reports/results"
)

// The measures of a timeline, in pixels of its own coordinates.
const (
	timelineWidth = 1120.0
	timelineLeft  = 132.0 // where time begins, right of the lane names
	timelineRight = 1104.0
	labelHeight   = 17.0
	clientLane    = 36.0
	nodeLane      = 38.0
	quietLane     = 26.0 // of a server without a replica
	bandTitle     = 22.0

	maxElements = 700 // the approximate maximum of elements of a timeline
	maxBeliefs  = 60  // with more holds, a timeline shows a part of the run
)

// timeline draws the beliefs of clients against the state of servers,
// proportional in time. window decides which part of the run it shows.
type timeline struct {
	drawing
	f      *story.Facts
	proven map[int64]bool
	*timeAxis
	colour map[string]int // client -> palette index

	both      []checker.Overlap // the drawn ones
	messages  []message
	proof     *proving // nil for a picture of the run
	lanes     []lane
	top       float64 // where the lanes begin
	bottom    float64
	faultRows labelRows
	markRows  labelRows
	names     []func() // of roles, after the labels of arrows
}

type lane struct {
	client, owner string // of a client lane
	node, key     string // of a server lane
	replica       bool
	label         string
	y, height     float64
	title         string // heading above the first lane of its kind
	ops           []*provingOp
	above         float64 // height of the labels over the bars
	roles         bool    // it shows when the server is a primary and when a replica
}

// timeAxis is a common axis of time for pictures of several runs. The first picture
// decides which part of a run all of them show.
type timeAxis struct {
	Width    float64 // of a picture, in pixels of its own coordinates; 0 for that of the report
	from, to int64
	broken   *story.Axis // nil for one that is proportional throughout
}

// right is where time ends.
func (a *timeAxis) right() float64 {
	if a.broken != nil {
		return a.broken.Edge
	}
	return a.width() - (timelineWidth - timelineRight)
}

func (a *timeAxis) width() float64 { return cmp.Or(a.Width, timelineWidth) }

// drawTimeline returns the picture of a run as SVG, and a caption that says which part of
// the run it shows.
func drawTimeline(f *story.Facts, r *results.Run, axis *timeAxis) (svg template.HTML, caption string) {
	t := newTimeline(f, r, axis)
	t.messages = messagesIn(f.History, f.Roles)
	t.makeLanes()
	if len(t.lanes) == 0 {
		return "", "There is nothing to draw: the history has no operations."
	}
	if t.to == 0 {
		t.window()
	}
	return t.svg(fmt.Sprintf(`class="timeline" data-from="%d" data-to="%d"`, t.from, t.to), t.spoken(r)), t.caption()
}

func newTimeline(f *story.Facts, r *results.Run, axis *timeAxis) *timeline {
	t := &timeline{f: f, proven: story.ProofOps(r), both: f.Overlaps, colour: map[string]int{}, timeAxis: axis}
	for i, c := range f.Clients {
		t.colour[c] = i % 8
	}
	return t
}

// svg draws everything, with attributes of the picture and a description for readers who
// cannot see it.
func (t *timeline) svg(attributes, inWords string) template.HTML {
	body := t.body()
	below := 30.0 // the axis, for its labels
	if t.broken != nil {
		below += 8
	}
	// The parts were escaped when they were drawn.
	return template.HTML(fmt.Sprintf(`<svg %s viewBox="0 0 %s %s" role="img" aria-label="%s">`+"\n%s</svg>\n",
		attributes, px(t.width()), px(t.bottom+below), html.EscapeString(english.Clean(inWords)), body))
}

func (t *timeline) makeLanes() {
	for _, c := range t.f.Clients {
		owners := t.f.OwnersOf[c]
		if len(owners) == 0 {
			owners = []string{""}
		}
		for _, o := range owners {
			l := lane{client: c, owner: o, label: english.Name(c), height: clientLane}
			if len(owners) > 1 {
				l.label = english.Name(o)
			}
			t.lanes = append(t.lanes, l)
		}
	}
	if len(t.lanes) > 0 {
		t.lanes[0].title = "clients believed"
	}
	servers := len(t.lanes)
	t.lanes = append(t.lanes, t.serverLanes()...)
	if len(t.lanes) > servers {
		t.lanes[servers].title = "servers had"
	}
}

// serverLanes has one lane for every node that held a lock as a primary. If the
// run has a failover, the replicas have lanes, too.
func (t *timeline) serverLanes() []lane {
	type at struct{ node, key string }
	primary := map[at]bool{}
	keys := map[string]int{}
	var all []at
	for i := range t.f.History.Events {
		s := t.f.History.Events[i].Server
		if s == nil {
			continue
		}
		k := at{s.Node, s.Key}
		if _, ok := primary[k]; !ok {
			all = append(all, k)
			keys[s.Node]++
			primary[k] = false
		}
		primary[k] = primary[k] || s.Role != "replica"
	}
	failover := slices.ContainsFunc(t.f.Faults, func(x *history.Strike) bool { return x.Promotes || x.HoldsReplication })
	if failover { // the picture is about a replica that never heard of the lock
		seen := slices.Clone(all)
		for node := range t.f.Roles { // sorted below
			if keys[node] > 0 {
				continue
			}
			for _, k := range seen {
				if party.First(k.node) == party.First(node) && primary[k] {
					primary[at{node, k.key}] = false
					all = append(all, at{node, k.key})
					keys[node]++
				}
			}
		}
	}
	slices.SortStableFunc(all, func(a, b at) int { return cmp.Or(story.Natural(a.node, b.node), cmp.Compare(a.key, b.key)) })
	var out []lane
	for _, k := range all {
		if !primary[k] && !failover {
			continue
		}
		l := lane{node: k.node, key: k.key, replica: !primary[k], label: english.Name(k.node), height: quietLane, roles: failover}
		if keys[k.node] > 1 {
			l.label += " " + english.Name(k.key)
		}
		if failover {
			l.height = nodeLane
		}
		out = append(out, l)
	}
	return out
}

// x is the position of an instant. Instants outside the window are on its edge.
func (t *timeline) x(at int64) float64 {
	if t.broken != nil {
		return t.broken.Pos(at)
	}
	at = min(max(at, t.from), t.to)
	return timelineLeft + (t.right()-timelineLeft)*float64(at-t.from)/float64(t.to-t.from)
}

// shown reports whether an interval touches the window.
func (t *timeline) shown(from, to int64) bool { return to >= t.from && from <= t.to }

// body draws from the back to the front: faults, lanes, violations, and the
// labels above. The rows of labels determine where the lanes begin.
func (t *timeline) body() string {
	var faults, moments []placed
	if t.proof == nil {
		faults = t.placeFaults()
	}
	marks := t.placeOverlaps()
	if t.proof != nil {
		moments = t.placeMoments()
	}
	t.top = 6 + labelHeight*float64(len(t.faultRows.rows)+len(t.markRows.rows))
	y := t.top
	for i := range t.lanes {
		if t.lanes[i].title != "" {
			y += bandTitle
		}
		t.lanes[i].y = y
		t.placeLabels(&t.lanes[i])
		y += t.lanes[i].above + t.lanes[i].height
	}
	t.bottom = y + 4

	t.axis()
	t.drawFaults(faults)
	t.shadeOverlaps(marks)
	for i := range t.lanes {
		l := &t.lanes[i]
		if l.title != "" {
			t.text("band", 4, l.y-7, l.title)
		}
		t.line("rule", timelineLeft, l.y+l.above+l.height, t.right(), l.y+l.above+l.height, "")
		t.text("lane", 4, l.y+l.above+l.height/2+4, fit(l.label, timelineLeft-16))
		if l.node == "" {
			t.drawClient(l)
		} else {
			t.drawServer(l)
		}
	}
	t.drawArrows()
	for _, write := range t.names {
		write()
	}
	if t.proof != nil {
		t.drawBreaks()
		t.drawMoments(moments)
	}
	t.drawOverlaps(marks)
	t.drawLost()
	for i := range t.lanes {
		t.drawLabels(&t.lanes[i])
	}
	return t.b.String()
}

// axis draws the line of time and its ticks.
func (t *timeline) axis() {
	if t.broken != nil {
		t.drawInstants()
	} else {
		t.drawTicks()
	}
	t.line("axis", timelineLeft, t.bottom, t.right(), t.bottom, "")
}

// drawTicks draws the ticks of time, in round steps.
func (t *timeline) drawTicks() {
	span := float64(t.to - t.from)
	step := math.Pow(10, math.Floor(math.Log10(span/8)))
	for _, f := range []float64{1, 2, 5, 10} {
		if span/(step*f) <= 10 {
			step *= f
			break
		}
	}
	step = max(step, 1)
	grid := ""
	for at := math.Ceil(float64(t.from)/step) * step; at <= float64(t.to); at += step {
		x := t.x(int64(at))
		grid += "M" + px(x) + " " + px(t.top+4) + "V" + px(t.bottom)
		label := axisLabel(at, step)
		t.text("tick", min(x, t.width()-textWidth(label)/2), t.bottom+16, label)
	}
	t.path("grid", grid, "")
}

func axisLabel(at, step float64) string {
	switch {
	case step >= 1e9:
		return fmt.Sprintf("%.0f s", at/1e9)
	case step >= 1e8:
		return fmt.Sprintf("%.1f s", at/1e9)
	case step >= 1e7 && at >= 1e9:
		return fmt.Sprintf("%.2f s", at/1e9)
	case step >= 1e6:
		return fmt.Sprintf("%.0f ms", at/1e6)
	}
	return fmt.Sprintf("%.3f ms", at/1e6)
}

// fit cuts a label that would be wider than w.
func fit(s string, w float64) string {
	if textWidth(s) <= w {
		return s
	}
	r := []rune(s)
	for len(r) > 1 && textWidth(string(r))+8 > w {
		r = r[:len(r)-1]
	}
	return string(r) + "…"
}

func (t *timeline) caption() string {
	var parts []string
	if t.to < t.f.End-int64(1e6) || t.from > t.f.Begin+int64(1e6) {
		idle := ""
		if !slices.ContainsFunc(t.f.Beliefs, func(c checker.Belief) bool { return c.To > t.to }) {
			idle = "; after that the run was idle"
		}
		parts = append(parts, fmt.Sprintf("Shown: %s to %s of %s%s.", history.At(t.from), history.At(t.to), history.At(t.f.End), idle))
	} else {
		parts = append(parts, fmt.Sprintf("The whole run, %s.", history.At(t.f.End)))
	}
	if n := len(t.f.Overlaps); n > 0 {
		total, longest := t.f.OverlapTime()
		if n == 1 {
			parts = append(parts, fmt.Sprintf("Two holders once, for %s.", length(total)))
		} else {
			parts = append(parts, fmt.Sprintf("Two holders %d times, for %s in all, at most %s.", n, length(total), length(longest)))
		}
	}
	if t.f.Invalid {
		parts = append(parts, "The history is not valid, so it is not known what the clients believed.")
	}
	if n := len(t.f.Lost); n > 0 {
		parts = append(parts, english.Count(n, "lost update")+".")
	}
	if t.elements >= maxElements {
		parts = append(parts, "Details that no longer fit were left out.")
	}
	return strings.Join(parts, " ")
}
