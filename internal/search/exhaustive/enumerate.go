package exhaustive

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/internal/random"
)

// auditOne is the number of skipped placements of which the audit plays one.
const auditOne = 100

// unit is the work of one job: the placements of one fault at one moment, for every
// length of it and of the fault before.
type unit struct {
	n     int // among all units of all levels, from 0
	in    *built
	m     int
	cells []cell // row after row of what is built upon
	wide  int    // cells in a row
}

// cell is a placement, to play or to skip.
type cell struct {
	n      int // among all placements of all levels, from 0
	row, v int
	rule   string // why it is left out; "" when it is played
	audit  bool   // should it be left out, it is played nevertheless
}

// enumerate goes through all placements in what is built upon: by moment, kind of
// fault, target and variant, in this order. first are the numbers of the first unit
// and of the first placement.
func enumerate(all []*built, firstUnit, firstCell int) iter.Seq[unit] {
	return func(yield func(unit) bool) {
		n, cells := firstUnit, firstCell
		dice := random.Stream(Seed, "audit")
		for _, b := range all {
			for m := range b.seen.Moments {
				for _, steps := range b.in.ladders {
					u := unit{n: n, in: b, m: m, wide: len(steps)}
					for row := range b.rows() {
						for _, v := range steps {
							c := cell{n: cells, row: row, v: v, rule: b.rule(row, m, v), audit: dice.IntN(auditOne) == 0}
							c.audit = c.audit && c.rule != Unavailable
							u.cells = append(u.cells, c)
							cells++
						}
					}
					if !yield(u) {
						return
					}
					n++
				}
			}
		}
	}
}

// left reports whether rules leave out all placements of the unit.
func (u unit) left() bool {
	return !slices.ContainsFunc(u.cells, func(c cell) bool { return c.rule == "" })
}

// audited reports whether the audit plays some that a rule leaves out.
func (u unit) audited() bool {
	return slices.ContainsFunc(u.cells, func(c cell) bool { return c.rule != "" && c.audit })
}

func (u unit) name(c cell) string { return fmt.Sprintf("%s-%d", u.in.in.Name, c.n+1) }

func (u unit) placement(c cell) Placement {
	return u.in.row(c.row).and(u.in.in.able[c.v], u.in.seen.Moments[u.m].Anchor)
}

// order is the unit as a job plays it.
func (u unit) order(build, audit bool) order {
	o := order{Base: u.in.in.Name, Build: build, Wide: u.wide}
	for _, c := range u.cells {
		one := cellOrder{Name: u.name(c), Faults: u.placement(c).Faults, Left: c.rule != "", Audit: audit && c.audit}
		if one.Left && one.Audit {
			if c.rule == Idle {
				moments := u.in.seen.Moments
				one.Faults = u.placement(c).later(moments[u.m].At - moments[u.in.since(u.m, c.v)].At).Faults
			}
			one.Instead = u.in.instead(c.row, u.m, c.v, c.rule)
		}
		o.Cells = append(o.Cells, one)
	}
	return o
}

// build returns the runs of a level with the placements in them. Of runs that are
// the same from some moment on, only the first is extended there; base is the run
// of the base itself.
//
// Two runs are the same if their messages, executions and records are the same, and their
// faults leave no other effect. These faults struck only messages and processes, or were
// the same fault at the same time.
func build(base *shown, runs []shown) []*built {
	while, after := map[string]*shown{}, map[string]*shown{base.seen.Digest: base}
	var all []*built
	for i := range runs {
		r := &runs[i]
		if r.seen.Missed || len(r.seen.Moments) == 0 {
			continue
		}
		last := r.under.Faults[len(r.under.Faults)-1]
		key := fmt.Sprint(r.seen.Digest, r.seen.Struck, mark(last), r.rungs)
		b := &built{*r, make([]*shown, len(r.seen.Moments))}
		all = append(all, b)
		if first := while[key]; first != nil {
			for m := range b.skip {
				b.skip[m] = first
			}
			continue
		}
		while[key] = r
		if !visible(last.Traits()) {
			continue
		}
		first := after[r.seen.Digest]
		for m := range b.skip {
			if at := r.seen.Moments[m].At; first != nil && at > r.seen.Ended && at > first.seen.Ended {
				b.skip[m] = first
			}
		}
		if first == nil || r.seen.Ended < first.seen.Ended {
			after[r.seen.Digest] = r
		}
	}
	return all
}

// mark is a fault without its moment.
func mark(s faults.Spec) string {
	s.On = nil
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err) // names and numbers: cannot happen
	}
	return string(raw)
}

// visible reports whether a fault that is over leaves no effect beyond messages
// and operations.
func visible(t history.Traits) bool {
	return t == history.Traits{Instant: t.Instant, Lasts: t.Lasts, HoldsRequests: t.HoldsRequests, HoldsReplies: t.HoldsReplies, Cuts: t.Cuts,
		LosesNotices: t.LosesNotices, HoldsSubscriptions: t.HoldsSubscriptions, StopsProcess: t.StopsProcess, Cancels: t.Cancels}
}
