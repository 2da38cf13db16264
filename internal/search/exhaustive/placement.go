package exhaustive

import (
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/internal/party"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// Rules say why a placement is not played.
const (
	// Unavailable: the topology cannot carry the fault, or the fault does not take
	// these parameters together.
	Unavailable = "the fault is not available"
	// Absent: the fault would find nothing to strike at that moment.
	Absent = "the target is not there"
	// Idle: the links of the fault carry nothing since an earlier moment. Beginning
	// there, it gives the same run.
	Idle = "its links carry nothing since an earlier moment"
	// OtherOrder: two faults of different targets strike at one moment, and were
	// placed there in the other order.
	OtherOrder = "the same two faults at one moment, in the other order"
	// SameFromThere: a run before is the same from there on, and has been built upon.
	SameFromThere = "a run before is the same from there on"
	// Outlasts: the fault ended with the workload in the run of a shorter one. A longer
	// one ends there as well, so the run is the same.
	Outlasts = "a shorter fault lasts for as long as the workload"
)

// Placement is faults at moments of a base, the earlier one first.
type Placement struct {
	Base    string        `json:"base"`
	Faults  []faults.Spec `json:"faults"`
	Classes []string      `json:"classes"` // of their durations
}

// and returns the placement with one more fault.
func (p Placement) and(v variant, at faults.Anchor) Placement {
	v.Spec.On = &at
	p.Faults = append(slices.Clip(p.Faults), v.Spec)
	p.Classes = append(slices.Clip(p.Classes), v.Class)
	return p
}

func (p Placement) before() Placement {
	n := len(p.Faults) - 1
	p.Faults, p.Classes = p.Faults[:n], p.Classes[:n]
	return p
}

// phase is the kind of the moment of the last fault.
func (p Placement) phase() string { return phase(p.Faults[len(p.Faults)-1].On) }

// When describes the moments of the faults.
func (p Placement) When() string {
	all := english.Words(p.Faults, func(f faults.Spec) string { return f.Hazard() + " of " + strings.Join(f.Target, ", ") + " " + f.When() })
	return strings.Join(all, "; then ")
}

// built is a base, or a run with a placement, in which faults are placed.
type built struct {
	shown
	skip []*shown // by moment: the run before that is the same from there on
}

// shown is a run of a base that can be extended.
type shown struct {
	in    *workload
	under Placement
	// rungs are the variants of the last fault that give this very run, the played one
	// first and then longer ones; none for a base.
	rungs []int
	seen  *seen
}

// rows are the placements that give the run.
func (s *shown) rows() int { return max(1, len(s.rungs)) }

func (s *shown) row(i int) Placement {
	if i == 0 {
		return s.under
	}
	at := *s.under.Faults[len(s.under.Faults)-1].On
	return s.under.before().and(s.in.able[s.rungs[i]], at)
}

// workload is a base with what can be placed in it.
type workload struct {
	Base
	counts  *BaseCounts
	able    []variant
	ladders []ladder // of able, in order
	// unable are the ways in which no fault strikes in this topology.
	unable int
	pairs  map[[2]int]bool // whether two variants go together
	lock   *locks.Lock
	bare   seen // its run without a fault
}

func newWorkload(b Base, l *locks.Lock, kinds []string, counts *BaseCounts) *workload {
	w := &workload{Base: b, counts: counts, pairs: map[[2]int]bool{}, lock: l}
	top := b.scenario(l).World(l)
	for _, name := range kinds {
		k, _ := faults.Lookup(name)
		for _, t := range targetsOf(k, top) {
			for _, v := range variantsOf(k, t) {
				if w.apply(v) {
					w.able = append(w.able, v)
				} else {
					w.unable++
				}
			}
		}
	}
	w.ladders = laddersOf(w.able)
	return w
}

// apply reports whether faults are available together.
func (w *workload) apply(all ...variant) bool {
	at := faults.Duration(0)
	var specs []faults.Spec
	for _, v := range all {
		v.Spec.At = &at
		specs = append(specs, v.Spec)
	}
	ok, _ := w.with(w.lock, w.Name, specs).Applies(w.lock)
	return ok
}

// together is apply for two variants, with a cache.
func (w *workload) together(a, b int) bool {
	pair := [2]int{min(a, b), max(a, b)}
	ok, known := w.pairs[pair]
	if !known {
		ok = w.apply(w.able[pair[0]], w.able[pair[1]])
		w.pairs[pair] = ok
	}
	return ok
}

// rule returns the rule that skips a placement without a run, or "". The placement is a
// variant at a moment, after a row of what it is built upon.
func (b *built) rule(row, m, v int) string {
	at, what := &b.seen.Moments[m], &b.in.able[v]
	n := len(b.under.Faults)
	switch {
	case n > 0 && !b.in.together(b.rungs[row], v):
		return Unavailable
	case b.skip != nil && b.skip[m] != nil:
		return SameFromThere
	case absent(b.under.Faults, what.Spec, at):
		return Absent
	case b.since(m, v) < m:
		return Idle
	case at.Same && v < b.rungs[row] && !touch(b.under.Faults[n-1], what.Spec):
		return OtherOrder
	}
	return ""
}

// instead is the placement with the same result as a skipped one; nil if the rule
// names none.
func (b *built) instead(row, m, v int, rule string) *Placement {
	at, what := b.seen.Moments[m].Anchor, b.in.able[v]
	p := b.row(row)
	switch rule {
	case SameFromThere:
		twin := b.skip[m]
		p = twin.row(min(row, twin.rows()-1)).and(what, at)
	case Absent:
	case Idle:
		p = p.and(what, b.seen.Moments[b.since(m, v)].Anchor)
	case OtherOrder:
		p = p.before().and(what, at).and(b.in.able[b.rungs[row]], at)
	default:
		return nil
	}
	return &p
}

// touch reports whether two faults strike the same party. A primary and its replicas
// are one party, because a fault of one may change the roles of all.
func touch(a, b faults.Spec) bool {
	mine := map[string]bool{}
	for _, name := range slices.Concat(a.Target, a.Peer) {
		mine[party.First(name)] = true
	}
	return slices.ContainsFunc(slices.Concat(b.Target, b.Peer), func(name string) bool { return mine[party.First(name)] })
}

// absent reports whether a fault finds nothing to strike after others. A client in no
// operation has nothing to cancel, and no node takes over from a replica, unless it has
// become the primary.
func absent(before []faults.Spec, s faults.Spec, m *moment) bool {
	traits := s.Traits()
	promoted := slices.ContainsFunc(before, func(f faults.Spec) bool { return f.Traits().Promotes })
	return traits.Cancels && !slices.Contains(m.Busy, s.Target[0]) || traits.Promotes && !promoted && party.IsReplica(s.Target[0])
}
