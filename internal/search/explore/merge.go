package explore

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/internal/input"
	"github.com/holdfast-go/holdfast/internal/suite"
)

// Merged is what shards of one exploration have shown together.
type Merged struct {
	// Results add the shards up; they follow from them. Files are named of
	// those finds that are kept, see [Read].
	Results
	// Shards are what each has shown by itself, in order. The files they name
	// were in their own directories.
	Shards []Results `json:"shards"`
	// Missing are the shards that are not there, or were interrupted.
	Missing []int `json:"missing,omitempty"`
}

// Read reads the results of an exploration, of one of its shards, or of several
// that were merged. Of a cause that several shards have seen, the find of the
// lowest seed is kept, among those that were written to files.
func Read(from io.Reader) (Merged, error) {
	var m Merged
	doc, err := input.ReadAll(from, input.MaxDocument)
	if err == nil {
		err = documents.Unmarshal(doc, &m)
	}
	if err != nil {
		return m, fmt.Errorf("read exploration: %w", err)
	}
	if len(m.Shards) == 0 {
		m.Shards = []Results{m.Results}
	}
	for i, r := range m.Shards {
		if err := r.check(); err != nil {
			return m, fmt.Errorf("read exploration: %w", err)
		}
		if what := m.Shards[0].differs(r); what != "" || i > 0 && r.Shard <= m.Shards[i-1].Shard {
			return m, errors.New("read exploration: its shards are not shards of one exploration")
		}
	}
	return sum(m.Shards), nil
}

// check refuses what no exploration writes.
func (r Results) check() error {
	switch {
	case r.Schema != Schema:
		return errors.New(input.Sprintf("its schema is %q, not %s", r.Schema, Schema))
	case r.Of < 1 || r.Shard < 1 || r.Shard > r.Of:
		return fmt.Errorf("shard %d of %d is none", r.Shard, r.Of)
	}
	for _, c := range r.Causes {
		if c.Key != c.Cause.Key() || strings.ContainsAny(c.Key, `/\`) {
			return errors.New(input.Sprintf("%q is not the key of %s", c.Key, c.Cause.Key()))
		}
	}
	return nil
}

// Merge joins shards of one exploration. The order and the number of merges do not
// change the result. A shard plays its runs in the same order every time, so of a shard
// that is in both the play with more runs counts. The error names a difference: of the
// explorations, of two plays of as many runs, or of the runs with which both begin.
func Merge(a, b Merged) (Merged, error) {
	shards := slices.Clone(a.Shards)
	for _, s := range b.Shards {
		if what := shards[0].differs(s); what != "" {
			return Merged{}, fmt.Errorf("they are shards of different explorations: %s", what)
		}
		i, both := slices.BinarySearchFunc(shards, s.Shard, func(r Results, shard int) int { return r.Shard - shard })
		if !both {
			shards = slices.Insert(shards, i, s)
			continue
		}
		whole, err := longer(shards[i], s)
		if err != nil {
			return Merged{}, fmt.Errorf("shard %d is there twice, and not the same: %w", s.Shard, err)
		}
		shards[i] = whole
	}
	return sum(shards), nil
}

// differs names the first difference of two explorations, or returns "".
func (r Results) differs(o Results) string {
	for _, f := range []struct {
		what string
		a, b any
	}{
		{"version", r.Version, o.Version}, {"lock", r.Lock, o.Lock}, {"seed", r.Seed, o.Seed}, {"number of shards", r.Of, o.Of},
		{"number of runs", r.Budget, o.Budget}, {"vocabulary", r.Vocabulary, o.Vocabulary},
	} {
		if !reflect.DeepEqual(f.a, f.b) {
			return fmt.Sprintf("the %s is %v in one and %v in the other", f.what, f.a, f.b)
		}
	}
	return ""
}

// longer is the one of two plays of a shard that holds the other.
func longer(a, b Results) (Results, error) {
	if a.Runs > b.Runs {
		a, b = b, a
	}
	if a.Runs < b.Runs {
		if what := a.exceeds(b); what != "" {
			return b, fmt.Errorf("%d runs have shown more than %d runs: %s", a.Runs, b.Runs, what)
		}
		return b, nil
	}
	if field := unlike(a, b); field != "" {
		return a, fmt.Errorf("%s differs", field)
	}
	return slices.MinFunc([]Results{a, b}, func(x, y Results) int {
		return cmp.Or(when(x.Interrupted)-when(y.Interrupted), bytes.Compare(encoded(x), encoded(y)))
	}), nil
}

func when(is bool) int {
	if is {
		return 1
	}
	return 0
}

// exceeds names something that these results have shown and others, which begin with the
// same runs, have not; "" if there is nothing.
func (r Results) exceeds(o Results) string {
	switch {
	case r.Violated > o.Violated:
		return "violated"
	case r.Unknown > o.Unknown:
		return "unknown"
	case r.Ops > o.Ops:
		return "ops"
	}
	for _, c := range r.Causes {
		if !slices.ContainsFunc(o.Causes, func(d Found) bool {
			return d.Key == c.Key && d.Count >= c.Count && d.FirstSeed == c.FirstSeed && d.HistorySHA256 == c.HistorySHA256
		}) {
			return c.Key
		}
	}
	return ""
}

// unlike names the first field in which two plays of as many runs differ. It ignores the
// duration, the command, the interruption, the catalogue, and the files of the finds.
func unlike(a, b Results) string {
	for _, r := range []*Results{&a, &b} {
		r.Command, r.Interrupted, r.WallMS, r.Catalogue, r.Causes = "", false, 0, nil, slices.Clone(r.Causes)
		for i, c := range r.Causes {
			r.Causes[i] = Found{Key: c.Key, Cause: c.Cause, Count: c.Count, FirstSeed: c.FirstSeed, HistorySHA256: c.HistorySHA256}
		}
		slices.SortFunc(r.Causes, func(x, y Found) int { return strings.Compare(x.Key, y.Key) })
	}
	return suite.Difference(a, b)
}

func encoded(r Results) []byte {
	b, err := json.Marshal(r)
	if err != nil {
		panic("explore: write results: " + err.Error()) // they were read from JSON
	}
	return b
}
