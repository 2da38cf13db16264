package reports

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/internal/story"
)

// numbers are the measurements of one lock over all its histories.
type numbers struct {
	lock      string
	histories int
	handoffs  []float64 // ms, sorted by finish
	holds     []float64 // ms
	overlaps  int
	total     int64 // ns with at least two holders
	longest   int64 // ns
	lost      int

	// They come from runs without violations, or from all runs if there are no such runs.
	commands, grants int
	calm             bool
	roundTrip        float64 // ms; 0 for unknown
}

// cost counts the requests of a lock in a run. A run without a fault or a
// violation shows the cost of the lock itself.
func (n *numbers) cost(f *story.Facts, commands int, calm bool, roundTrip float64) {
	if calm && !n.calm {
		n.calm, n.commands, n.grants = true, 0, 0
	}
	if calm == n.calm && commands > 0 {
		n.commands += commands
		n.grants += len(f.Beliefs)
	}
	if f.History.Header.World == "sim" {
		n.roundTrip = cmp.Or(n.roundTrip, roundTrip)
	}
}

// handoff is the median hand-off in ms. It sorts.
func (n *numbers) handoff() (ms float64, ok bool) {
	if len(n.handoffs) == 0 {
		return 0, false
	}
	slices.Sort(n.handoffs)
	return n.handoffs[len(n.handoffs)/2], true
}

// add counts one history.
func (n *numbers) add(f *story.Facts) {
	n.histories++
	for _, h := range f.Handoffs {
		n.handoffs = append(n.handoffs, float64(h)/1e6)
	}
	for i := range f.Beliefs {
		if c := &f.Beliefs[i]; c.EndedBy == "release" {
			n.holds = append(n.holds, float64(c.To-c.From)/1e6)
		}
	}
	total, longest := f.OverlapTime()
	n.overlaps += len(f.Overlaps)
	n.total += total
	n.longest = max(n.longest, longest)
	n.lost += len(f.Lost)
}

// numberRow is a row of the table of numbers.
type numberRow struct {
	Lock                                   string
	Histories, Overlaps, Lost              string
	OverlapTotal, OverlapLongest           string
	Handoffs, Handoff50, Handoff90, Slower string
	Holds, Hold50, Hold90                  string
	Bad                                    bool
}

func (n *numbers) row() numberRow {
	slices.Sort(n.handoffs)
	slices.Sort(n.holds)
	r := numberRow{
		Lock: english.Name(n.lock), Histories: strconv.Itoa(n.histories),
		Overlaps: strconv.Itoa(n.overlaps), Lost: strconv.Itoa(n.lost),
		OverlapTotal: "–", OverlapLongest: "–",
		Handoffs: strconv.Itoa(len(n.handoffs)), Holds: strconv.Itoa(len(n.holds)),
		Handoff50: quantile(n.handoffs, 0.5), Handoff90: quantile(n.handoffs, 0.9), Slower: quantile(n.handoffs, 1),
		Hold50: quantile(n.holds, 0.5), Hold90: quantile(n.holds, 0.9),
		Bad: n.overlaps > 0 || n.lost > 0,
	}
	if n.overlaps > 0 {
		r.OverlapTotal, r.OverlapLongest = length(n.total), length(n.longest)
	}
	return r
}

// quantile is the smallest of sorted milliseconds that at least the fraction q
// does not exceed.
func quantile(ms []float64, q float64) string {
	if len(ms) == 0 {
		return "–"
	}
	i := min(int(q*float64(len(ms))), len(ms)-1)
	return length(int64(ms[i] * 1e6))
}

// Measure is the time with two holders in a history, and the median hand-off, in ns.
func Measure(h *history.History) (overlap, handoff int64) {
	n := numbers{}
	n.add(story.NewFacts(h))
	median, _ := n.handoff()
	return n.total, int64(median * 1e6)
}
