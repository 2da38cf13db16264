package main

import (
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/holdfast-go/holdfast/internal/must"
)

// The tests of the textbook locks must fail with a lock that gives a hold of somebody
// else away, and pass with the original.
func TestTheTestsOfTheLocksTakePart(t *testing.T) {
	s, err := loadSource(t.Context(), ".")
	must.Succeed(t, err)
	dir := t.TempDir()
	overlay, err := s.overlay(dir)
	must.Succeed(t, err)
	own := &ownTests{workers: runtime.NumCPU()}
	own.programs, err = s.buildTests(t.Context(), overlay, dir)
	must.Succeed(t, err)
	own.programs = slices.DeleteFunc(own.programs, func(p testProgram) bool { return filepath.Base(p.dir) != "textbook" })
	if len(own.programs) != 1 {
		t.Fatalf("%d programs have the tests of the textbook locks", len(own.programs))
	}
	must.Succeed(t, own.playOriginal(t.Context(), dir, func() {}))
	if len(own.left) > 0 || len(own.programs[0].tests) == 0 {
		t.Fatalf("%d tests pass with the original, these fail: %q", len(own.programs[0].tests), own.left)
	}
	mutants := choice{Files: []string{"internal/textbook/release.lua"}, Operators: []string{"lua-flip", "lua-drop"}}
	mutants.Shard.Index, mutants.Shard.Of = 1, 1
	chosen := mutants.choose(s.Mutants)
	met := 0
	must.Succeed(t, own.runAll(t.Context(), chosen, func(m *Mutant, by string) error {
		met++
		if by == "" {
			t.Errorf("no test fails with %s\n%s", m.ID, m.Diff)
		}
		return nil
	}))
	if met == 0 || met != len(chosen) {
		t.Errorf("%d of %d mutants met the tests", met, len(chosen))
	}
}

// A program tells in several ways which test has failed.
func TestTheFailingTest(t *testing.T) {
	for name, c := range map[string]struct{ out, want string }{
		"failure":   {"=== RUN   TestA\n--- PASS: TestA (0.00s)\n=== RUN   TestB\n    b_test.go:7: no\n--- FAIL: TestB (0.00s)\nFAIL\n", "TestB"},
		"sub-test":  {"=== RUN   TestA\n=== RUN   TestA/one\n--- FAIL: TestA (0.00s)\n    --- FAIL: TestA/one (0.00s)\nFAIL\n", "TestA"},
		"panic":     {"=== RUN   TestA\n--- PASS: TestA (0.00s)\n=== RUN   TestB/two\npanic: runtime error\n", "TestB"},
		"left over": {"=== RUN   TestA\n--- PASS: TestA (0.00s)\nPASS\ngoleak: Errors on successful test run\n", ""},
		"no output": {"", ""},
	} {
		if got := failing([]byte(c.out)); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
