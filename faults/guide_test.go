package faults_test

import (
	"os"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/internal/play"
	"github.com/holdfast-go/holdfast/internal/search/explore/draw"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

const wiped = `
scenario: wiped
title: An empty server takes over
story: The server forgets the lock while client-1 holds it.
otherwise: Nobody else would get the lock before client-1 releases it.
only: [reentrant]
topology: {clients: 2}
workload: {holds: 1, lease: 5s, think: 2s, wait: 10s}
override:
  client-2: {start: 1s}
faults:
  - fault: wipe
    target: primary
    on: {moment: granted, client: client-1}
`

// The fault of the guide is complete in its file: scenarios can name it, the
// judges know its effects, and exploration draws it.
func TestTheFaultOfTheGuidePlays(t *testing.T) {
	s, err := scenarios.Parse("wiped.yaml", []byte(wiped))
	must.Succeed(t, err)
	lock, err := locks.Find("reentrant")
	must.Succeed(t, err)
	p, err := play.Simulate(s, lock, 1, "test")
	must.Succeed(t, err)
	if f := p.History.Header.Faults; len(f) != 1 || !f[0].Traits.DeletesKeys {
		t.Errorf("the header says %+v", f)
	}
	r, err := checker.Judge(p.History, checker.Options{})
	must.Succeed(t, err)
	if v := r.Verdicts[checker.Exclusion]; v.Outcome != checker.Violated {
		t.Errorf("exclusion: %+v; nobody forgot the lock", v)
	}
	v, err := draw.NewVocabulary([]string{"wipe"}, nil, false)
	must.Succeed(t, err)
	for seed := range uint64(100) {
		if s, err := draw.Scenario(lock, seed, v, nil); err != nil {
			t.Fatal(err)
		} else if len(s.Faults) > 0 {
			return
		}
	}
	t.Error("exploration never draws it")
}

// The guide shows the file unchanged.
func TestTheGuideShowsTheWholeFile(t *testing.T) {
	file, err := os.ReadFile("wipe_test.go")
	must.Succeed(t, err)
	guide, err := os.ReadFile("../docs/adding-a-fault.md")
	must.Succeed(t, err)
	if !strings.Contains(string(guide), "```go\n"+string(file)+"```\n") {
		t.Error("docs/adding-a-fault.md does not show faults/wipe_test.go as it is: copy the file into it")
	}
}
