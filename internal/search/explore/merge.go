package explore

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/internal/input"
	"github.com/holdfast-go/holdfast/internal/search"
	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/holdfast-go/holdfast/scenarios"
)

// Kind stores, reads and merges explorations. Of a cause that several shards have seen, a
// merge keeps the find of the lowest seed, among those that have files.
var Kind = search.Kind[Results]{
	Name:     "explore",
	Patterns: []string{"finds/*.yaml", "finds/*.jsonl", "finds/*.txt"},
	Copies:   copiesOf,
}

func (r Results) About() []search.Option {
	return []search.Option{{Name: "lock", Value: r.Lock}, {Name: "seed", Value: r.Seed}, {Name: "number of runs", Value: r.Budget}, {Name: "vocabulary", Value: r.Vocabulary}}
}

func (r Results) Parts() []Results {
	if len(r.Shards) > 0 {
		return r.Shards
	}
	return []Results{r}
}

func (r Results) Played() int     { return r.Runs }
func (r Results) Whole() bool     { return !r.Interrupted }
func (r Results) Flaws() []string { return r.Defects }

// Check implements [search.Results]. The key of a cause is the name of a file.
func (r Results) Check() error {
	for _, part := range append(r.Parts(), r) {
		for _, c := range part.Causes {
			if c.Key != c.Cause.Key() || strings.ContainsAny(c.Key, `/\`) {
				return errors.New(input.Sprintf("%q is not the key of %s", c.Key, c.Cause.Key()))
			}
		}
	}
	return nil
}

func (r Results) Exceeds(longer Results) string {
	switch {
	case r.Violated > longer.Violated:
		return "violated"
	case r.Unknown > longer.Unknown:
		return "unknown"
	case r.Ops > longer.Ops:
		return "ops"
	case r.Commands > longer.Commands:
		return "commands"
	}
	for _, c := range r.Causes {
		if !slices.ContainsFunc(longer.Causes, func(d Found) bool {
			return d.Key == c.Key && d.Count >= c.Count && d.FirstSeed == c.FirstSeed && d.HistorySHA256 == c.HistorySHA256
		}) {
			return c.Key
		}
	}
	return ""
}

func (r Results) Sum(e search.Envelope, shards []Results) Results {
	t := NewTally(Results{Envelope: e, Lock: r.Lock, Seed: r.Seed, Budget: r.Budget, Vocabulary: r.Vocabulary, Shards: shards})
	for _, s := range shards {
		t.addShard(s)
	}
	all := t.Finish()
	recall(all.Catalogue, all.Causes)
	return all
}

func (t *Tally) addShard(s Results) {
	t.Runs += s.Runs
	t.Unknown += s.Unknown
	t.Violated += s.Violated
	t.Ops += s.Ops
	t.Commands += s.Commands
	t.VirtualMS += s.VirtualMS
	t.WallMS += s.WallMS
	t.Defects = append(t.Defects, s.Defects...)
	if t.Catalogue == nil {
		t.Catalogue = slices.Clone(s.Catalogue)
	}
	for why, n := range s.Reasons {
		t.Reasons[why] += n
	}
	t.Coverage.Add(s.Coverage)
	for _, f := range s.Strikes {
		t.strikes[f.Fault] += f.Runs
	}
	for _, c := range s.Causes {
		have := t.causes[c.Key]
		if have == nil {
			t.causes[c.Key] = &c
			continue
		}
		count, known := have.Count+c.Count, have.Known || c.Known
		if cmp.Or(when(c.Scenario == "")-when(have.Scenario == ""), cmp.Compare(c.FirstSeed, have.FirstSeed)) < 0 {
			*have = c // of those with files, the one of the lowest seed
		}
		have.Count, have.Known = count, known
	}
}

// sameFind reports whether two results tell of the same find, from the same play
// of its run: its files are the same in both.
func sameFind(a, b Found) bool {
	alone := func(f Found) Found {
		f.Count, f.Under, f.Known = 0, "", false
		return f
	}
	return reflect.DeepEqual(alone(a), alone(b))
}

func when(is bool) int {
	if is {
		return 1
	}
	return 0
}

// copiesOf are the files of the causes. The error names a missing or changed file.
func copiesOf(from []search.Stored[Results], merged Results) ([]string, error) {
	var copies []string
	for _, c := range merged.Causes {
		named := filesNamed(c)
		if len(named) == 0 {
			continue
		}
		i := slices.IndexFunc(from, func(s search.Stored[Results]) bool {
			return slices.ContainsFunc(s.Results.Causes, func(f Found) bool { return sameFind(f, c) })
		})
		dir := from[i].Dir
		there := filesOf(dir, c)
		for _, name := range named {
			if !slices.Contains(there, dir.File(filepath.FromSlash(name))) {
				return nil, fmt.Errorf("%s: %s is missing", dir, name)
			}
		}
		for _, file := range there {
			if strings.HasSuffix(file, ".yaml") {
				if _, err := scenarios.Load(file); err != nil {
					return nil, err
				}
			}
		}
		if c.History != "" {
			path := dir.File(filepath.FromSlash(c.History))
			switch hash, err := suite.HashOf(path); {
			case err != nil:
				return nil, err
			case hash != c.HistorySHA256:
				return nil, fmt.Errorf("%s changed since the run: the hash is not the one in explore.json", path)
			}
		}
		copies = append(copies, there...)
	}
	return copies, nil
}

func filesNamed(f Found) []string {
	named := []string{f.Scenario, f.History}
	if s := f.Shrunk; s != nil {
		named = append(named, s.Scenario, s.History, s.Story)
	}
	return slices.DeleteFunc(named, func(name string) bool { return name == "" })
}

// filesOf are the files of a find that are there.
func filesOf(dir suite.Dir, f Found) []string {
	var there []string
	for _, name := range (Results{Causes: []Found{f}}).Files() {
		if file := dir.File(filepath.FromSlash(name)); suite.Exists(file) {
			there = append(there, file)
		}
	}
	return there
}
