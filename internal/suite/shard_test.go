package suite

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Every seed is played by exactly one shard.
func TestShardsShareTheSeeds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		of := rapid.IntRange(1, 50).Draw(t, "of")
		seeds := rapid.IntRange(0, 500).Draw(t, "seeds")
		first := rapid.Uint64Range(0, 1000).Draw(t, "first")
		var played []uint64
		for index := 1; index <= of; index++ {
			s := Shard{index, of}
			for n := range s.Size(seeds) {
				played = append(played, s.Seed(first, n))
			}
		}
		slices.Sort(played)
		if len(played) != seeds {
			t.Fatalf("%d runs of %d seeds", len(played), seeds)
		}
		for i, seed := range played {
			if seed != first+uint64(i) {
				t.Fatalf("run %d plays seed %d, want %d", i, seed, first+uint64(i))
			}
		}
	})
}

func TestParseShard(t *testing.T) {
	for text, want := range map[string]Shard{"": {1, 1}, "1/1": {1, 1}, "2/5": {2, 5}, "10000/10000": {10000, 10000}} {
		if got, err := ParseShard(text); err != nil || got != want {
			t.Errorf("%q: %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"0/2", "3/2", "1/0", "1", "/", "a/b", "1/10001", "-1/2"} {
		if got, err := ParseShard(text); err == nil {
			t.Errorf("%q is taken for %v", text, got)
		}
	}
}
