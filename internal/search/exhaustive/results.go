package exhaustive

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/internal/search"
)

// Results are the results of the faults of a lock, or of a shard of them.
// It implements [search.Results].
type Results struct {
	search.Envelope
	Lock  string `json:"lock"`
	Depth int    `json:"depth"`          // faults in a run, at most
	Base  string `json:"base,omitempty"` // the only base; empty for all
	// Done counts the runs of the shard that were taken in, in their order: a resumed
	// search begins there.
	Done int `json:"done"`

	Faults    []string       `json:"faults"`    // the kinds that were placed, sorted
	Durations []string       `json:"durations"` // the classes, shortest first
	Bases     []BaseCounts   `json:"bases"`
	Violated  []Cause        `json:"violated"` // those seen most often first
	Inherent  []Cause        `json:"inherent"` // likewise
	Unknown   map[string]int `json:"unknown"`  // why runs proved nothing, and how many
	Audit     Audit          `json:"audit"`
	// Places count the runs by the kind of the last fault and of its moment, sorted.
	Places []Place `json:"places,omitempty"`
	// NotCovered says what the placements leave open.
	NotCovered []string `json:"not_covered"`
	Defects    []string `json:"defects,omitempty"`

	Commands  int     `json:"commands"` // Redis commands that servers executed
	VirtualMS int64   `json:"virtual_ms"`
	WallMS    float64 `json:"wall_ms"`

	Shards []Results `json:"shards,omitempty"` // that these results add up, in order
}

// Audit is the result of playing placements that a rule had left out.
type Audit struct {
	Played      int      `json:"played"`
	Differences []string `json:"differences,omitempty"` // of them, a defect each
}

var notCovered = []string{
	"more clients, more holds, several locks, other latencies, and closing a lock on several primaries",
	"durations a millisecond on either side of a deadline, and a pause that outlasts the timers of its process",
	"more faults in one run than --depth says",
	"adapters, whose locks live in other processes",
}

// BaseCounts counts the placements of a base. Those of the first four fields are
// of all shards together.
type BaseCounts struct {
	Name       string         `json:"name"`
	Summary    string         `json:"summary"`
	Moments    int            `json:"moments"`
	Placements int            `json:"placements"`
	NotPlayed  map[string]int `json:"not_played"` // by rule
	Runs
}

// Runs counts runs. A played run that is not in one of the last three fields kept every
// promise.
type Runs struct {
	Played    int `json:"played"`
	Outlasted int `json:"outlasted"`  // not played: [Outlasts] names another run that is the same
	NotStruck int `json:"not_struck"` // a fault found nothing to strike
	Unknown   int `json:"unknown"`    // proved nothing
	Inherent  int `json:"inherent"`   // violated only what no lock with these claims keeps
	Violated  int `json:"violated"`   // broke a promise that the lock could have kept
}

func (r *Runs) add(o Runs) {
	r.Played += o.Played
	r.Outlasted += o.Outlasted
	r.NotStruck += o.NotStruck
	r.Unknown += o.Unknown
	r.Inherent += o.Inherent
	r.Violated += o.Violated
}

// Place counts the runs whose last fault is of a kind and strikes at a kind of moment.
type Place struct {
	Fault string `json:"fault"`
	At    string `json:"at"`
	Runs
}

// place counts runs at a place.
func place(places []Place, p Place) []Place {
	i, there := slices.BinarySearchFunc(places, p, func(a, b Place) int { return cmp.Or(cmp.Compare(a.Fault, b.Fault), cmp.Compare(a.At, b.At)) })
	if !there {
		return slices.Insert(places, i, p)
	}
	places[i].add(p.Runs)
	return places
}

// Total adds up the runs of all bases.
func (r Results) Total() Runs {
	var sum Runs
	for _, b := range r.Bases {
		sum.add(b.Runs)
	}
	return sum
}

// Cause is a violation, and the faults before it. Its class is that of the reason,
// without names and numbers.
type Cause struct {
	search.Find
	// At counts the runs by the kind of moment of the last fault.
	At map[string]int `json:"at,omitempty"`
	// First is the first run in the order of the enumeration, N its number there.
	// Its scenario plays by itself: Source is the scenario, File where it is kept.
	First  string `json:"first"`
	N      int    `json:"n"`
	Reason string `json:"reason"` // of the first
	When   string `json:"when,omitempty"`
	Source string `json:"source"`
	File   string `json:"file,omitempty"`
	// Also are the other properties that the first run violates, by the lock's own fault
	// where this one is.
	Also []Also `json:"also,omitempty"`
	// Verdict is the class of the verdict, where it has one.
	Verdict string `json:"verdict,omitempty"`
}

// Name implements [search.Finding].
func (c *Cause) Name() string { return c.First }

// Also is one more violated property of a run.
type Also struct {
	Property checker.Property `json:"property"`
	Reason   string           `json:"reason"`
}

// Bare reports whether the first run has no fault: the cause needs none.
func (c Cause) Bare() bool { return c.N < 0 }

// Late reports whether no fault of the first run had struck before the moment of the
// violation, although the run has one.
func (c Cause) Late() bool {
	return c.When != "" && !slices.ContainsFunc(c.Faults, func(f string) bool { return strings.Contains("; then "+c.When, "; then "+f+" of ") })
}

// Violation names what went wrong: the property, and the faults that had struck.
func (c Cause) Violation() string {
	return string(c.Property) + " after " + strings.Join(c.Faults, ", ")
}

func (c Cause) same(o Cause) bool {
	return c.Property == o.Property && c.Class == o.Class && slices.Equal(c.Faults, o.Faults)
}

func add(causes []Cause, c Cause) []Cause {
	i := slices.IndexFunc(causes, c.same)
	if i < 0 {
		c.At = maps.Clone(c.At)
		return append(causes, c)
	}
	sum := &causes[i]
	if c.N < sum.N || c.N == sum.N && c.First < sum.First { // two bases without a fault have one number
		c.Count, c.At, *sum = sum.Count+c.Count, both(sum.At, c.At), c
		sum.At, sum.Count = c.At, c.Count
		return causes
	}
	sum.Count += c.Count
	sum.At = both(sum.At, c.At)
	return causes
}

func both(a, b map[string]int) map[string]int {
	sum := maps.Clone(a)
	for what, n := range b {
		if sum == nil {
			sum = map[string]int{}
		}
		sum[what] += n
	}
	return sum
}

func causeOf(all []violation, i int, p Placement, run string, n int, source string) Cause {
	v := all[i]
	c := Cause{Find: search.Find{Cause: search.Cause{Property: v.Property, Class: v.Class, Faults: v.Faults}, Count: 1}, Verdict: v.Verdict, First: run, N: n, Reason: v.Reason, Source: source}
	if len(p.Faults) > 0 {
		c.When, c.At = p.When(), map[string]int{p.phase(): 1}
	}
	for k, o := range all {
		if k != i && o.Reason != v.Reason {
			c.Also = append(c.Also, Also{o.Property, o.Reason})
		}
	}
	return c
}

// blame is the cause of the worst violation of a run, which comes first. If the base shows
// the same without a fault, for the same reason, that is the cause. A replica may have taken
// the place of its primary.
func (w *workload) blame(all []violation, p Placement, run string, n int, source string) Cause {
	anywhere := func(class string) string { return strings.ReplaceAll(class, "-replica-#", "") }
	i := slices.IndexFunc(w.bare.Faulty, func(v violation) bool {
		return v.Property == all[0].Property && anywhere(v.Class) == anywhere(all[0].Class)
	})
	if i < 0 {
		return causeOf(all, 0, p, run, n, source)
	}
	c := causeOf(w.bare.Faulty, i, Placement{}, w.Name, -1, w.bare.Source)
	if len(p.Faults) > 0 {
		c.At = map[string]int{p.phase(): 1}
	}
	return c
}

// often orders causes, those seen most often first.
func often(causes []Cause) {
	slices.SortStableFunc(causes, func(a, b Cause) int { return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.N, b.N)) })
}
