package sweep

import (
	"cmp"
	"fmt"
	"github.com/holdfast-go/holdfast/internal/english"
	"slices"
	"strconv"
)

// Table is the result in rows of words, the first of them the headings.
func (r *Result) Table() [][]string {
	head := english.Words(r.plan.Axes, func(a axis) string { return a.Param.label })
	rows := [][]string{append(head, "runs", "two holders", "95 %", "lost updates", "95 %", "unknown")}
	for _, p := range r.Points {
		unknown := strconv.Itoa(p.OverlapsUnknown)
		if p.LostUnknown != p.OverlapsUnknown {
			unknown = fmt.Sprintf("%d and %d", p.OverlapsUnknown, p.LostUnknown)
		}
		row := append(append([]string{}, p.At...), strconv.Itoa(p.Runs))
		row = append(row, strconv.Itoa(p.Overlaps), p.Count.overlap().cell(), strconv.Itoa(p.Lost), p.Count.lostUpdate().cell(), unknown)
		rows = append(rows, row)
	}
	return rows
}

// Sentences sum up the result: the least and the greatest probability of an
// overlap, that of a lost update, the boundaries, and missing shards.
func (r *Result) Sentences() []string {
	points := r.plan.Points()
	least, most := -1, 0
	for i, p := range r.Points {
		share := p.Count.overlap().share()
		if p.Overlaps > 0 && (least < 0 || share < r.Points[least].Overlap.Share) {
			least = i
		}
		if share > r.Points[most].Overlap.Share || p.Overlaps == 0 && r.Points[most].Overlaps == 0 {
			most = i
		}
	}
	var all []string
	if least >= 0 && least != most {
		all = append(all, r.plan.sentence(points[least], r.Points[least].Count))
	}
	all = append(all, r.plan.sentence(points[most], r.Points[most].Count), r.plan.lostSentence(points[most], r.Points[most].Count))
	if i := r.bounded(); i >= 0 {
		all = append(all, r.plan.sentence(points[i], r.Points[i].Count)+": a bound and not a safe value, because the seed draws when the fault strikes")
	} else if len(r.Points) > 1 && len(r.Boundaries) == 0 && !r.plan.random() && r.everywhere() {
		all = append(all, "there are overlaps at every value that was played: they begin beyond these, or have no such boundary")
	}
	all = append(all, english.Words(r.Boundaries, r.plan.boundaryWords)...)
	if r.IsShard() {
		all = append(all, fmt.Sprintf("this is shard %d of %d", r.Shard, r.Of))
	}
	if together := cmp.Or(r.Together(len(r.Shards)), r.Lacks()); together != "" {
		all = append(all, together)
	}
	return all
}

func (r *Result) everywhere() bool {
	return !slices.ContainsFunc(r.Points, func(p resultPoint) bool { return p.Overlaps == 0 })
}

// bounded is the point without an overlap that the most runs were played at, -1
// when there is none or nothing is left to chance.
func (r *Result) bounded() int {
	best := -1
	for i, p := range r.Points {
		if r.plan.random() && p.Count.never() && (best < 0 || p.Count.overlap().Of >= r.Points[best].Count.overlap().Of) {
			best = i
		}
	}
	return best
}
