package shrink_test

import (
	"go/parser"
	"go/token"
	"reflect"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/internal/search/shrink"
	"github.com/holdfast-go/holdfast/scenarios"
)

type verdicts = map[checker.Property]checker.Verdict

// The result is a scenario, and expects the verdict of each lock.
func TestTellExpectsWhatWasSeen(t *testing.T) {
	s := load(t, "testdata/bloated-pause.yaml")
	good := checker.Verdict{Outcome: checker.OutcomeOK}
	over := checker.Verdict{Outcome: checker.Violated, Class: checker.LeaseOutlived, Reason: "client-2/1 came at 1 s: too early"}
	lost := checker.Verdict{Outcome: checker.Violated, Reason: "1 update lost."}
	told := shrink.Tell(s, shrink.Finding{Lock: "set-px-lua", Seed: 3, Target: shrink.Target{Property: checker.Exclusion}, Reason: over.Reason, From: "mine"}, []shrink.Played{
		{Lock: "set-px-lua", Verdicts: verdicts{checker.Exclusion: over, checker.ResourceSafe: lost}},
		{Lock: "setnx", Verdicts: verdicts{checker.Exclusion: good, checker.ResourceSafe: good}},
		{Lock: "set-px", Verdicts: verdicts{checker.Exclusion: over, checker.ResourceSafe: lost}},
		{Lock: "reentrant-wait", Verdicts: verdicts{checker.Exclusion: {Outcome: checker.Unknown, Reason: "nobody came"}}},
	})
	src, err := told.YAML()
	must.Succeed(t, err)
	again, err := scenarios.Parse("told.yaml", src)
	if err != nil {
		t.Fatalf("%v\n%s", err, src)
	}
	want := []scenarios.Expect{{
		Locks:    []string{"set-px-lua", "set-px"},
		Verdicts: map[string]string{"exclusion": "lease outlived", "resource": "violated"},
		Because:  "With set-px-lua: client-2/1 came at 1 s: too early. 1 update lost.\n",
	}}
	if !reflect.DeepEqual(again.Expect, want) {
		t.Errorf("expects %+v, want %+v", again.Expect, want)
	}
	if why := again.Except["reentrant-wait"]; !strings.Contains(why, "nobody came") {
		t.Errorf("reentrant-wait is left out because %q", why)
	}
	if again.Name != "found-exclusion-delay-pause-script-flush-crash" {
		t.Errorf("it is called %s", again.Name)
	}
	for _, says := range []string{
		"5 clients take the lock, 15 times in all", "client-1 and client-5 before the 2nd write of client-1, for 15.713s: a client process freezes",
		"with set-px-lua and seed 3", "left of mine",
	} {
		if story := strings.Join(strings.Fields(again.Story), " "); !strings.Contains(story, says) {
			t.Errorf("%q is not in the story: %s", says, story)
		}
	}
}

func TestGoTestIsGo(t *testing.T) {
	s := load(t, "testdata/bloated-pause.yaml")
	s.Title = "Two\nlines"
	for lock, says := range map[string]string{"set-px": `Locks: []string{"set-px"}, Seed: 7}`, "": `locktest.Files("testdata/bloated-pause.yaml")`} {
		src := shrink.GoTest(s, lock, 7, "abc")
		if _, err := parser.ParseFile(token.NewFileSet(), "x_test.go", "package x\n"+src, 0); err != nil {
			t.Errorf("%v\n%s", err, src)
		}
		if !strings.Contains(src, says) || !strings.Contains(src, "func TestBloatedPause(t *testing.T)") || !strings.Contains(src, "7") {
			t.Errorf("%q is missing:\n%s", says, src)
		}
	}
}
