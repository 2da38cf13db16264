// Package explore looks for unknown violations of a lock: it plays random
// scenarios, and groups the violations by cause.
package explore

import (
	"cmp"
	"slices"

	"github.com/holdfast-go/holdfast/internal/search"
	"github.com/holdfast-go/holdfast/internal/search/explore/draw"
)

// Results are the results of one exploration, or of one shard of it.
// It implements [search.Results].
type Results struct {
	search.Envelope
	Lock       string          `json:"lock"`
	Seed       uint64          `json:"seed"`             // of the first run of the first shard
	Budget     int             `json:"budget,omitempty"` // runs to play, of all shards together; 0 for as many as time allows
	Vocabulary draw.Vocabulary `json:"vocabulary"`

	Runs     int            `json:"runs"`              // played
	Unknown  int            `json:"unknown"`           // of them, proved nothing
	Reasons  map[string]int `json:"reasons,omitempty"` // why, and how often
	Violated int            `json:"violated"`          // of them, broke a promise
	Causes   []Found        `json:"causes"`            // by simplicity
	Coverage []draw.Count   `json:"coverage"`
	Strikes  []Strikes      `json:"strikes"` // of every fault that might have come
	Defects  []string       `json:"defects,omitempty"`
	// Catalogue are the hazards that the catalogue shows of the lock; nil when
	// it was not played.
	Catalogue []Listed `json:"catalogue,omitempty"`

	Ops       int     `json:"ops"`
	Commands  int     `json:"commands"` // Redis commands that servers executed
	VirtualMS float64 `json:"virtual_ms"`
	WallMS    float64 `json:"wall_ms"`

	// Shards are the results of each shard by itself, in order, if these results add
	// several up. The files that they name are in their own directories.
	Shards []Results `json:"shards,omitempty"`
}

// Found is a cause and its first run.
type Found struct {
	Key string `json:"key"`
	search.Find
	FirstSeed uint64 `json:"first_seed"` // the lowest
	// Scenario and History are files of the first seed, relative to the
	// directory of the results.
	Scenario string `json:"scenario,omitempty"`
	History  string `json:"history,omitempty"`
	// HistorySHA256 is the hash of that history; empty for a run that never
	// ended.
	HistorySHA256 string `json:"history_sha256,omitempty"`
	// Known says that it was found before, see [markKnown].
	Known bool `json:"known,omitempty"`
}

// Name implements [search.Finding].
func (f *Found) Name() string { return f.Key }

// Strikes says in how many runs a fault struck.
type Strikes struct {
	Fault string `json:"fault"`
	Runs  int    `json:"runs"`
}

// Subsume names for every cause a simpler one that explains it. It sorts the causes:
// simple ones first, and of those the ones with the smallest runs.
func Subsume(causes []Found) {
	slices.SortFunc(causes, func(a, b Found) int { return search.SimplestFirst(&a, &b) })
	search.Explain(search.Pointers(causes))
}

func markKnown(causes []Found, known []search.Cause) {
	for i := range causes {
		causes[i].Known = slices.ContainsFunc(known, func(k search.Cause) bool { return k.Explains(causes[i].Cause) })
	}
}

// Distinct are the causes that no simpler one explains, most frequent first. Their counts
// include the runs of the causes that they explain.
func Distinct(causes []Found) []Found {
	count := map[string]int{}
	for _, c := range causes {
		count[cmp.Or(c.Under, c.Key)] += c.Count
	}
	var some []Found
	for _, c := range causes {
		if c.Under == "" {
			c.Count = count[c.Key]
			some = append(some, c)
		}
	}
	slices.SortStableFunc(some, func(a, b Found) int { return b.Count - a.Count })
	return some
}

// Hits counts the strikes of each fault in each phase.
func (r Results) Hits() draw.Coverage { return draw.Coverage{}.Add(r.Coverage) }

// Finds are the distinct causes that were not known before.
func Finds(causes []Found) []Found {
	return slices.DeleteFunc(Distinct(causes), func(c Found) bool { return c.Known })
}

// Tally adds up what runs have shown, in any order.
type Tally struct {
	Results
	Coverage draw.Coverage
	causes   map[string]*Found
	samples  map[string][]sample // the runs of a cause with the lowest seeds, in order, by its key
	strikes  map[string]int
}

// NewTally begins to add up; about says what the results are of.
func NewTally(about Results) *Tally {
	about.Schema, about.Kind, about.Reasons = search.Schema, Kind.Name, map[string]int{}
	return &Tally{Results: about, Coverage: draw.Coverage{}, causes: map[string]*Found{}, samples: map[string][]sample{}, strikes: map[string]int{}}
}

func (t *Tally) Add(seed uint64, s Seen) {
	t.Runs++
	t.Coverage.Add(s.Coverage)
	for _, f := range s.Struck {
		t.strikes[f]++
	}
	switch {
	case s.Cause != nil:
		t.Violated++
		t.found(seed, s)
	case s.Unknown != "":
		t.Unknown++
		t.Reasons[s.Unknown]++
	}
}

func (t *Tally) found(seed uint64, s Seen) {
	key := s.Cause.Key()
	f := t.causes[key]
	if f == nil {
		f = &Found{Key: key, Find: search.Find{Cause: *s.Cause}, FirstSeed: seed}
		t.causes[key] = f
	}
	f.Count++
	all := append(t.samples[key], sample{seed, s.Source, s.HistorySHA256})
	slices.SortFunc(all, func(a, b sample) int { return cmp.Compare(a.seed, b.seed) })
	t.samples[key] = all[:min(len(all), mostSamples)]
	f.FirstSeed, f.HistorySHA256 = all[0].seed, all[0].hash
}

type sample struct {
	seed   uint64
	source string // its scenario
	hash   string // of its history
}

// mostSamples is the number of runs of a cause that a Tally keeps.
const mostSamples = 4

// Finish returns the results, in order.
func (t *Tally) Finish() Results {
	r := t.Results
	r.Causes, r.Strikes = []Found{}, []Strikes{}
	for _, f := range t.causes {
		r.Causes = append(r.Causes, *f)
	}
	Subsume(r.Causes)
	for _, f := range r.Vocabulary.Faults {
		r.Strikes = append(r.Strikes, Strikes{f, t.strikes[f]})
	}
	r.Coverage = t.Coverage.Counts()
	return r
}
