// Command player plays runs for "holdfast selftest mutation", which builds it
// with mutants instead of the locks. It speaks the protocol of a holdfast worker.
package main

import (
	"fmt"
	"os"

	"github.com/holdfast-go/holdfast/internal/play"
	"github.com/holdfast-go/holdfast/internal/schemata"
	_ "github.com/holdfast-go/holdfast/internal/search/exhaustive" // its kind of job
	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/holdfast-go/holdfast/internal/suite/workers"
	"github.com/holdfast-go/holdfast/internal/version"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

func main() {
	always := schemata.Reached() // by code that ran before main
	suite.RegisterKind(schemata.Kind, func(j suite.Job, a suite.Answer, g suite.Guard) suite.Answer {
		a.Play(j, g, func(s *scenarios.Scenario, l *locks.Subject) (*play.Played, error) {
			return play.Simulate(s, l, j.Seed, version.Holdfast)
		})
		a.Give(append(schemata.Reached(), always...))
		return a
	})
	if err := workers.ServeJobs(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
