package exhaustive

import (
	"encoding/json"
	"iter"
	"time"

	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/history"
	"github.com/holdfast-go/holdfast/internal/random"
)

// auditOne is the number of skipped placements of which the audit plays one.
const auditOne = 100

// item is a placement of a level, to play or to skip.
type item struct {
	n     int // among all items of all levels, from 0
	in    *built
	m, v  int
	rule  string // why it is left out; "" when it is played
	audit bool   // it is left out, and played nevertheless
}

// enumerate goes through all placements in what is built upon: by moment, kind of
// fault, target and variant, in this order. first is the number of the first one.
func enumerate(all []*built, first int) iter.Seq[item] {
	return func(yield func(item) bool) {
		n := first
		dice := random.Stream(Seed, "audit")
		for _, b := range all {
			for m := range b.moments {
				for v := range b.in.able {
					it := item{n: n, in: b, m: m, v: v}
					it.rule = b.rule(m, v)
					it.audit = it.rule != "" && it.rule != Unavailable && dice.IntN(auditOne) == 0
					if !yield(it) {
						return
					}
					n++
				}
			}
		}
	}
}

// order is the placement as a job plays it.
func (it item) order(build bool) order {
	o := order{Placement: it.in.under.and(it.in.in.able[it.v], it.in.moments[it.m].Anchor), Build: build}
	if it.audit {
		o.Build, o.Instead = false, it.in.instead(it.m, it.v, it.rule)
	}
	return o
}

// shown are the played runs of one base that can be extended, in order.
type shown struct {
	in    *workload
	under Placement
	last  int
	seen  *seen
}

// build returns the runs of a level with the placements in them. Of runs that are
// the same from some moment on, only the first is extended there; base is the run
// of the base itself.
//
// Two runs are the same if their messages, executions and records are the same,
// and their faults leave no other effect: they struck only messages and processes,
// or were the same fault at the same time.
func build(base *shown, runs []shown) []*built {
	type rival struct {
		under *Placement
		ended time.Duration
	}
	while, after := map[string]rival{}, map[string]rival{}
	after[base.seen.Digest] = rival{&base.under, 0}
	var all []*built
	for i := range runs {
		r := &runs[i]
		if r.seen.Missed || len(r.seen.Moments) == 0 {
			continue
		}
		last := r.under.Faults[len(r.under.Faults)-1]
		key := r.seen.Digest + " " + r.seen.Struck.String() + " " + mark(last)
		b := &built{in: r.in, under: r.under, last: r.last, moments: r.seen.Moments, skip: make([]*Placement, len(r.seen.Moments))}
		all = append(all, b)
		if first, twin := while[key]; twin {
			for m := range b.skip {
				b.skip[m] = first.under
			}
			continue
		}
		while[key] = rival{&r.under, r.seen.Ended}
		if !visible(faults.TraitsOf(last)) {
			continue
		}
		first, twin := after[r.seen.Digest]
		for m := range b.skip {
			if at := b.moments[m].At; twin && at > r.seen.Ended && at > first.ended {
				b.skip[m] = first.under
			}
		}
		if !twin || r.seen.Ended < first.ended {
			after[r.seen.Digest] = rival{&r.under, r.seen.Ended}
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
