package main

import (
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/internal/suite"
)

// The catalogue must kill a lock that releases without an owner check, or does
// not renew its hold. Otherwise a judge or a scenario has become weaker.
func TestTheCatalogueMissesAnOwnerCheckAndARenewal(t *testing.T) {
	o := options{
		choice:  choice{Files: []string{"internal/textbook/release.lua", "lock/renew.lua"}, Operators: []string{"lua-drop", "lua-flip"}, Shard: suite.Shard{Index: 1, Of: 1}, Seed: 1},
		Source:  ".",
		Locks:   []string{"set-px-lua", "reentrant"},
		Placed:  499,
		Workers: runtime.NumCPU(), Stall: time.Minute,
		Progress: func(string, int) (step, done func()) { return func() {}, func() {} },
	}
	r, err := o.measure(t.Context())
	must.Succeed(t, err)
	for _, left := range r.Left {
		t.Errorf("the original is not as expected: %s", left)
	}
	if r.Played == 0 || r.Played != r.Chosen {
		t.Errorf("%d of %d played", r.Played, r.Chosen)
	}
	// The catalogue alone does not kill these: no scenario puts a key of another type in
	// the place of a lock.
	types := []string{"lock/renew.lua:10:lua-flip"}
	if r.NotReached > 0 {
		t.Errorf("no run reaches %d of %d", r.NotReached, r.Played)
	}
	for _, m := range r.survivors() {
		if slices.Contains(types, m.ID) {
			continue
		}
		t.Errorf("%s survived %d runs\n%s", m.ID, m.Runs, m.Diff)
	}
	if testing.Verbose() {
		r.text(t.Output())
	}
}

// A lock that grants nothing breaks no promise, and its runs prove nothing: no verdict
// kills it.
func TestALockThatGrantsNothingIsKilled(t *testing.T) {
	o := options{
		choice:  choice{Files: []string{"lock/fair_queue.lua"}, Operators: []string{"lua-flip"}, Shard: suite.Shard{Index: 1, Of: 1}, Seed: 1},
		Source:  ".",
		Locks:   []string{"fair"},
		Workers: runtime.NumCPU(), Stall: time.Minute,
		Progress: func(string, int) (step, done func()) { return func() {}, func() {} },
	}
	r, err := o.measure(t.Context())
	must.Succeed(t, err)
	if !slices.ContainsFunc(r.mutants, func(m *result) bool { return m.Status == killed && strings.HasPrefix(m.By, "no grant in ") }) {
		t.Errorf("none of %d mutants dies of granting nothing", r.Played)
	}
}
