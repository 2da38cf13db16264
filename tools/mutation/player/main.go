// Command player plays runs for the command of the folder above, which builds it with
// mutants instead of the locks. It speaks the protocol of a holdfast worker.
package main

import (
	"fmt"
	"os"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/play"
	_ "github.com/holdfast-go/holdfast/internal/search/exhaustive" // its kind of job
	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/holdfast-go/holdfast/internal/suite/workers"
	"github.com/holdfast-go/holdfast/internal/version"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/scenarios/locks"
	"github.com/holdfast-go/holdfast/tools/mutation/schemata"
	_ "github.com/holdfast-go/holdfast/tools/mutation/uses" // its locks
)

func main() {
	always := schemata.Reached() // by code that ran before main
	suite.RegisterKind(schemata.Kind, func(j suite.Job, a suite.Answer, g suite.Guard) suite.Answer {
		_, p := a.Play(j, g, func(s *scenarios.Scenario, l *locks.Lock) (*play.Played, error) {
			return play.Simulate(s, l, j.Seed, version.Holdfast)
		})
		a.Give(schemata.Answer{Reached: append(schemata.Reached(), always...), Grants: grants(p)})
		return a
	})
	if err := workers.ServeJobs(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// grants counts the acquires that succeeded in a run; nil has none.
func grants(p *play.Played) int {
	if p == nil || p.History == nil {
		return 0
	}
	n := 0
	for _, e := range p.History.Events {
		if e.F == history.Acquire && e.Kind == history.OK {
			n++
		}
	}
	return n
}
