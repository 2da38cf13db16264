package cross

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/holdfast-go/holdfast/internal/random"
	"github.com/holdfast-go/holdfast/internal/search"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

type Array struct {
	Rows []*scenarios.Scenario
	// Covered is the number of pairs of values that some row has, of Pairs that any row
	// could have. Cover is the number of rows that it takes to cover all of them.
	Covered, Pairs, Cover int
	// Infeasible are the pairs that no row can have, each with its reason.
	Infeasible []string
}

// unset marks a feature without a value yet.
const unset = -1

// row has the index of a value for each feature.
type row []int

// cell is a value of a feature.
type cell struct{ feature, value int }

// pair is two cells, that of the earlier feature first.
type pair [2]cell

func pairOf(a, b cell) pair {
	if a.feature > b.feature {
		a, b = b, a
	}
	return pair{a, b}
}

// builder makes the rows of one lock.
type builder struct {
	lock     *locks.Lock
	rng      *rand.Rand
	features []feature
	pairs    []pair        // all pairs of values, in order
	works    []pair        // those without the feature of the fault, as long as they may be open
	open     map[pair]bool // feasible, and in no row so far
	left     map[cell]int  // the number of open pairs with a value
	used     map[cell]int
}

// closePair makes a pair one that no further row needs.
func (b *builder) closePair(p pair) {
	if b.open[p] {
		delete(b.open, p)
		b.left[p[0]]--
		b.left[p[1]]--
	}
}

// New returns the first n rows for a lock. Rows that cover further pairs come first, so
// that each prefix covers as much as it can. The same lock, seed and n give the same rows.
func New(l *locks.Lock, seed uint64, n int) Array {
	return newArray(l, seed, append(slices.Clone(work), strikes(l)), n)
}

// Works are workloads of a lock for faults to come. Each two features of workloads that go
// together are in some of them, but not those that go with no fault.
func Works(l *locks.Lock) []*scenarios.Scenario {
	features := slices.Clone(work)
	for i, f := range features {
		features[i].values = slices.DeleteFunc(slices.Clone(f.values), func(v value) bool {
			s := &scenarios.Scenario{Override: map[string]scenarios.Override{}}
			v.put(s)
			return len(s.Faults) > 0 || s.Workload.Handoff > 0 || s.Workload.Observe > 0
		})
	}
	a := newArray(l, 1, features, 0)
	return a.Rows[:a.Cover]
}

// newArray returns the first n rows of some features, or with 0 as many as have all pairs.
func newArray(l *locks.Lock, seed uint64, features []feature, n int) Array {
	b := &builder{lock: l, rng: random.Stream(seed, "cross"), open: map[pair]bool{}, left: map[cell]int{}, used: map[cell]int{}}
	for _, f := range features {
		f.values = slices.DeleteFunc(slices.Clone(f.values), func(v value) bool { return v.can != nil && !v.can(l) })
		b.features = append(b.features, f)
	}
	b.enumeratePairs()
	var a Array
	for _, p := range b.pairs {
		if why := b.forbids(p[0], p[1]); why != "" {
			a.Infeasible = append(a.Infeasible, fmt.Sprintf("%s with %s: %s", b.name(p[0]), b.name(p[1]), why))
			continue
		}
		b.open[p] = true
		b.left[p[0]]++
		b.left[p[1]]++
	}
	seen := map[string]bool{}
	for tries := 0; (len(a.Rows) < n || n == 0 && len(b.open) > 0) && tries < 4*n+100; tries++ {
		r := b.next()
		key := fmt.Sprint(r)
		if seen[key] {
			continue
		}
		seen[key] = true
		s := b.scenario(r, len(a.Rows)+1)
		if ok, why := s.Applies(l); !ok {
			b.giveUp(r, why, &a)
			continue
		}
		if b.cover(r) > 0 {
			a.Cover = len(a.Rows) + 1
		}
		a.Rows = append(a.Rows, s)
	}
	for _, p := range b.pairs {
		if b.forbids(p[0], p[1]) == "" {
			a.Pairs++
			if !b.open[p] {
				a.Covered++
			}
		}
	}
	return a
}

// enumeratePairs lists all pairs of values, and those of work.
func (b *builder) enumeratePairs() {
	for i, f := range b.features {
		for j := i + 1; j < len(b.features); j++ {
			for v := range f.values {
				for w := range b.features[j].values {
					b.pairs = append(b.pairs, pair{{i, v}, {j, w}})
				}
			}
		}
	}
	if last := len(b.features) - 1; b.features[last].name == "fault" {
		b.works = slices.DeleteFunc(slices.Clone(b.pairs), func(p pair) bool { return p[1].feature == last })
	}
}

// name names a value.
func (b *builder) name(c cell) string {
	return b.features[c.feature].name + " " + b.features[c.feature].values[c.value].name
}

// is reports whether a cell is a value of a feature, by their names.
func (b *builder) is(c cell, feature, value string) bool {
	return b.features[c.feature].name == feature && b.features[c.feature].values[c.value].name == value
}

// forbids returns the reason why no workload has both values, or "".
func (b *builder) forbids(x, y cell) string {
	for _, c := range []pair{{x, y}, {y, x}} {
		x, y := c[0], c[1]
		same := b.is(y, "owner", "the same")
		switch {
		case same && (b.is(x, "end", "a shutdown") || b.is(x, "end", "a close") || b.is(x, "end", "a crash")):
			return "nobody goes on after it"
		case b.is(x, "end", "a shutdown") && b.features[y.feature].name == "owners" && y.value > 0:
			return "a shutdown releases the holds of all owners"
		case b.is(x, "rival", "nobody") && (b.features[y.feature].name == "wait of a rival" || b.features[y.feature].name == "arrival of a rival") && y.value > 0:
			return "there is no rival"
		case b.is(x, "looks of a waiter", "too rare to replace a message") && b.endsSilently(y):
			return "no message tells of the end of a lease, and a fault may delay one"
		case b.is(x, "looks of a waiter", "too rare to replace a message") && b.is(y, "names", "two at once"):
			return "long work under two locks outlasts a lease, and no message tells of that end"
		case b.is(x, "lease", "explicit") && b.op(y) == "background":
			return "nothing renews an explicit lease"
		case b.is(x, "work", "short") && b.op(y) == "background":
			return "the work is over before the first renewal"
		case b.is(x, "extension", "none") && b.op(y) == "extend":
			return "there is no extension"
		}
	}
	return ""
}

// endsSilently reports whether a hold may end without a release that is heard at once.
func (b *builder) endsSilently(c cell) bool {
	strikes := b.features[c.feature].name == "fault" && c.value > 0 && !b.features[c.feature].values[c.value].leaves
	return strikes || b.is(c, "end", "a crash") || b.is(c, "end", "a close") || b.is(c, "work", "past the lease")
}

// op is the operation that the fault of a cell meets, or "".
func (b *builder) op(c cell) string { return b.features[c.feature].values[c.value].op }

// candidates is the number of rows from which next chooses one. The construction of AETG
// takes 50; more than a few save hardly a row here.
const candidates = 8

// next is the best of some new rows. The first ones have no fault, until they have all pairs
// of work. After the last pair, a third has none: after a fault, the judges excuse more.
func (b *builder) next() row {
	given, pairs := []cell(nil), b.pairs
	b.works = slices.DeleteFunc(b.works, func(p pair) bool { return !b.open[p] })
	if len(b.works) > 0 || len(b.open) == 0 && b.rng.IntN(3) == 0 {
		given, pairs = []cell{{len(b.features) - 1, 0}}, b.works
	}
	var best row
	most := -1
	for range candidates {
		if r := b.candidate(given); b.gain(r) > most {
			best, most = r, b.gain(r)
		}
	}
	if most == 0 && len(b.open) > 0 { // what is left is not with the values that gain most
		first := slices.IndexFunc(pairs, func(p pair) bool { return b.open[p] })
		return b.candidate(append(pairs[first][:], given...))
	}
	return best
}

// candidate fills the features in a random order, that of the fault first, after some
// given values. Each value is one with the most new pairs, and then one that was used
// least.
func (b *builder) candidate(given []cell) row {
	r := make(row, len(b.features))
	for i := range r {
		r[i] = unset
	}
	for _, c := range given {
		r[c.feature] = c.value
	}
	last := len(r) - 1
	order := append([]int{last}, b.rng.Perm(last)...)
	order = slices.DeleteFunc(order, func(f int) bool { return r[f] != unset })
	for _, f := range order {
		values := b.rng.Perm(len(b.features[f].values))
		values = slices.DeleteFunc(values, func(v int) bool { return !b.fits(r, cell{f, v}) })
		if len(values) == 0 {
			return b.candidate(given) // what was chosen before leaves no value here
		}
		r[f] = slices.MinFunc(values, func(v, w int) int {
			return cmp.Or(b.gainOf(r, cell{f, w})-b.gainOf(r, cell{f, v}), b.used[cell{f, v}]-b.used[cell{f, w}])
		})
	}
	return r
}

// fits reports whether a value goes with the row so far.
func (b *builder) fits(r row, c cell) bool {
	for f, v := range r {
		if v != unset && b.forbids(cell{f, v}, c) != "" {
			return false
		}
	}
	return true
}

// gainOf is the number of new pairs that a value makes with the row so far. For the first
// value of a row it is the number of open pairs with it.
func (b *builder) gainOf(r row, c cell) int {
	n, first := 0, true
	for f, v := range r {
		if v == unset || f == c.feature {
			continue
		}
		first = false
		if b.open[pairOf(cell{f, v}, c)] {
			n++
		}
	}
	if first {
		return b.left[c]
	}
	return n
}

// gain is the number of new pairs of a row.
func (b *builder) gain(r row) int {
	n := 0
	for f := range r {
		for g := f + 1; g < len(r); g++ {
			if b.open[pair{{f, r[f]}, {g, r[g]}}] {
				n++
			}
		}
	}
	return n
}

// cover marks the pairs of a row as covered, and returns the number of new ones.
func (b *builder) cover(r row) int {
	n := b.gain(r)
	for f := range r {
		b.used[cell{f, r[f]}]++
		for g := f + 1; g < len(r); g++ {
			b.closePair(pair{{f, r[f]}, {g, r[g]}})
		}
	}
	return n
}

// giveUp drops a value that the lock cannot be played with: the first one of the row that
// alone is refused.
func (b *builder) giveUp(r row, why string, a *Array) {
	for f, v := range r {
		one := make(row, len(r))
		one[f] = v
		if ok, _ := b.scenario(one, 0).Applies(b.lock); ok || v == 0 {
			continue
		}
		a.Infeasible = append(a.Infeasible, b.name(cell{f, v})+": "+why)
		b.used[cell{f, v}] += 1 << 20 // what is used so often is taken last
		for p := range b.open {
			if p[0] == (cell{f, v}) || p[1] == (cell{f, v}) {
				b.closePair(p)
			}
		}
		return
	}
	for f := range r { // no value alone is the reason
		for g := f + 1; g < len(r); g++ {
			b.closePair(pair{{f, r[f]}, {g, r[g]}})
		}
	}
}

func (b *builder) scenario(r row, n int) *scenarios.Scenario {
	s := &scenarios.Scenario{
		Name:      fmt.Sprintf("crossed-%d", n),
		Story:     "The features of a workload and a fault, as a covering array combines them.",
		Otherwise: "A lock keeps its promises whatever happens; what does not come out ok is a find.",
		Topology:  search.Topology(b.lock, 1),
		Override:  map[string]scenarios.Override{},
	}
	s.Workload = scenarios.Workload{Holds: 2, Lease: lease, Wait: patient, Think: short, Rest: rest, Stagger: stagger}
	rivals(s, func(o *scenarios.Override) { o.Holds, o.Think = new(1), new(short/2) })
	for f, v := range r {
		if b.features[f].values[v].put(s); v > 0 {
			s.Title += fmt.Sprintf("; %s %s", b.features[f].name, b.features[f].values[v].name)
		}
	}
	s.Title = "Crossed" + s.Title
	keepPresent(s)
	return s
}
