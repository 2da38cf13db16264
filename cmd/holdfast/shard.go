package main

import (
	"fmt"
	"strconv"
	"strings"
)

// maxShards is how many parts a command can be split into.
const maxShards = 10_000

// shard is one of several disjoint parts of the seeds: those that follow the
// first one of it in steps of as many as there are parts.
type shard struct {
	index int // from 1
	of    int
}

// parseShard reads "2/5"; nothing at all is all of it.
func parseShard(text string) (shard, error) {
	if text == "" {
		return shard{1, 1}, nil
	}
	i, n, ok := strings.Cut(text, "/")
	index, err1 := strconv.Atoi(i)
	of, err2 := strconv.Atoi(n)
	if !ok || err1 != nil || err2 != nil || of < 1 || of > maxShards || index < 1 || index > of {
		return shard{}, usage(fmt.Sprintf("--shard %s: must be I/N, part I of N, from 1/N to N/N", text))
	}
	return shard{index, of}, nil
}

// size is how many of so many seeds the part has.
func (s shard) size(seeds int) int { return (seeds - s.index + s.of) / s.of }

// seed is the nth of its seeds, from 0, of those from the first on.
func (s shard) seed(first uint64, n int) uint64 { return first + uint64(s.index-1+n*s.of) }
