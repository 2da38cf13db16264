package explore

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/explore/draw"
)

// sum adds shards up, which are in order and of one exploration.
func sum(shards []Results) Merged {
	first := shards[0]
	all := Results{Schema: first.Schema, Version: first.Version, Lock: first.Lock, Seed: first.Seed, Of: first.Of, Budget: first.Budget,
		Vocabulary: first.Vocabulary, Reasons: map[string]int{}, Causes: []Found{}, Strikes: []Strikes{}}
	coverage, strikes := draw.Coverage{}, map[string]int{}
	var commands []string
	for _, s := range shards {
		commands = append(commands, s.Command)
		all.Interrupted = all.Interrupted || s.Interrupted
		all.Runs += s.Runs
		all.Unknown += s.Unknown
		all.Violated += s.Violated
		all.Ops += s.Ops
		all.Commands += s.Commands
		all.VirtualMS += s.VirtualMS
		all.WallMS += s.WallMS
		all.Defects = append(all.Defects, s.Defects...)
		if all.Catalogue == nil {
			all.Catalogue = slices.Clone(s.Catalogue)
		}
		for why, n := range s.Reasons {
			all.Reasons[why] += n
		}
		for _, c := range s.Coverage {
			coverage[c.Cell] += c.Hits
		}
		for _, f := range s.Strikes {
			strikes[f.Fault] += f.Runs
		}
		for _, c := range s.Causes {
			all.Causes = add(all.Causes, c)
		}
	}
	all.Command = strings.Join(commands, " && ")
	for _, f := range first.Vocabulary.Faults {
		all.Strikes = append(all.Strikes, Strikes{f, strikes[f]})
	}
	all.Coverage = coverage.Counts()
	Subsume(all.Causes)
	Recall(all.Catalogue, all.Causes)
	return Merged{Results: all, Shards: shards, Missing: missing(shards)}
}

// add counts in a cause that another shard has seen, too, or not.
func add(causes []Found, c Found) []Found {
	i := slices.IndexFunc(causes, func(d Found) bool { return d.Key == c.Key })
	if i < 0 {
		return append(causes, c)
	}
	have := &causes[i]
	all, known := have.Count+c.Count, have.Known || c.Known
	if cmp.Or(when(c.Scenario == "")-when(have.Scenario == ""), cmp.Compare(c.FirstSeed, have.FirstSeed)) < 0 {
		*have = c
	}
	have.Count, have.Known = all, known
	return causes
}

// SameFind reports whether two results tell of the same find, from the same play
// of its run: its files are the same in both.
func SameFind(a, b Found) bool {
	alone := func(f Found) Found {
		f.Count, f.Under, f.Known = 0, "", false
		return f
	}
	return reflect.DeepEqual(alone(a), alone(b))
}

// missing are the shards that are not there, or were interrupted.
func missing(shards []Results) []int {
	var none []int
	for shard := 1; shard <= shards[0].Of; shard++ {
		if !slices.ContainsFunc(shards, func(r Results) bool { return r.Shard == shard && !r.Interrupted }) {
			none = append(none, shard)
		}
	}
	return none
}
