package suite

import (
	"fmt"
	"github.com/holdfast-go/holdfast/internal/english"
	"strconv"
	"strings"
)

// MaxShards is the largest number of parts of a command.
const MaxShards = 10_000

// Shard is one of several disjoint parts of the seeds: every Of-th seed,
// beginning with number Index.
type Shard struct {
	Index int // from 1
	Of    int
}

// ParseShard reads "2/5". An empty text means all seeds.
func ParseShard(text string) (Shard, error) {
	if text == "" {
		return Shard{1, 1}, nil
	}
	i, n, ok := strings.Cut(text, "/")
	index, err1 := strconv.Atoi(i)
	of, err2 := strconv.Atoi(n)
	if !ok || err1 != nil || err2 != nil || of < 1 || of > MaxShards || index < 1 || index > of {
		return Shard{}, fmt.Errorf("shard %s: must be I/N, part I of N, from 1/N to N/N", text)
	}
	return Shard{index, of}, nil
}

// Size is the number of the shard's seeds; all shards together have seeds of them.
func (s Shard) Size(seeds int) int { return (seeds - s.Index + s.Of) / s.Of }

// Seed is number n of the shard's seeds, from 0; first is the first seed of all shards.
func (s Shard) Seed(first uint64, n int) uint64 { return first + uint64(s.Index-1+n*s.Of) }

// MissingShards lists the missing ones of several shards.
func MissingShards(missing []int, of int) string {
	words := english.Words(missing, func(shard int) string { return strconv.Itoa(shard) })
	return fmt.Sprintf("of %d shards these are missing or not complete: %s", of, strings.Join(words, ", "))
}
