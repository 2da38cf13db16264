package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/internal/suite"
)

// An interrupted hunt continues after its last complete line, one of another
// binary starts anew, and shards see each other's results.
func TestAHuntGoesOnWhereItEnded(t *testing.T) {
	dir := t.TempDir()
	h := hunt{exe: filepath.Join(dir, "exe")}
	write := func(path, text string) {
		t.Helper()
		must.Succeed(t, os.WriteFile(path, []byte(text), 0o644))
	}
	open := func(shard suite.Shard) *record {
		t.Helper()
		id, err := h.identity()
		must.Succeed(t, err)
		r, err := openRecord(filepath.Join(dir, "out"), "mutants", id, shard)
		must.Succeed(t, err)
		t.Cleanup(func() { r.close() })
		return r
	}
	mutants := []*Mutant{{ID: "a"}, {ID: "b"}, {ID: "c"}}
	missing := func(r *record) (ids string) {
		for _, m := range r.missing(mutants) {
			ids += m.ID
		}
		return ids
	}

	write(h.exe, "one")
	first := suite.Shard{Index: 1, Of: 2}
	r := open(first)
	for _, m := range mutants[:2] {
		must.Succeed(t, r.keep(&result{Mutant: m, Status: killed}))
	}
	if got := missing(open(suite.Shard{Index: 2, Of: 2})); got != "c" {
		t.Errorf("the other shard has to play %q", got)
	}
	path := filepath.Join(dir, "out", "mutants-1-of-2.jsonl")
	text, err := os.ReadFile(path)
	must.Succeed(t, err)
	write(path, string(text[:len(text)-5]))
	r = open(first)
	if got := missing(r); got != "bc" {
		t.Errorf("after a line that was cut off, %q are to be played", got)
	}
	must.Succeed(t, r.keep(&result{Mutant: mutants[1], Status: survived}))
	if got := open(first).results(mutants); len(got) != 2 || got[1].Status != survived {
		t.Errorf("results: %+v", got)
	}
	write(h.exe, "another")
	if got := missing(open(first)); got != "abc" {
		t.Errorf("with another binary, %q are to be played", got)
	}
}
