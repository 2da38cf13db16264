package explore

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
)

// sum adds shards up, which are in order and of one exploration.
func sum(shards []Results) Merged {
	first := shards[0]
	t := NewTally(Results{Version: first.Version, Lock: first.Lock, Seed: first.Seed, Of: first.Of, Budget: first.Budget, Vocabulary: first.Vocabulary})
	var commands []string
	for _, s := range shards {
		commands = append(commands, s.Command)
		t.addShard(s)
	}
	t.Command = strings.Join(commands, " && ")
	all := t.Finish()
	recall(all.Catalogue, all.Causes)
	return Merged{Results: all, Shards: shards, Missing: missing(shards)}
}

// addShard adds the runs of a shard.
func (t *Tally) addShard(s Results) {
	t.Interrupted = t.Interrupted || s.Interrupted
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
	for _, c := range s.Coverage {
		t.Coverage[c.Cell] += c.Hits
	}
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
