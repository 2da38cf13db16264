package liveplay

import (
	"fmt"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// Paces of a scenario in real time, without a flag for another.
const (
	// quick suits scenarios in which nothing has a time of its own.
	quick = 0.2
	// brisk suits locks that need all of several servers, and wait for each.
	brisk = 0.5
	// asWritten suits those in which a replica has to find its primary again: it tries
	// once in a second. And it suits servers that may round to whole seconds. In a queue, the
	// place of a dead waiter has a lease of its own.
	asWritten = 1
	// unhurried suits scenarios in which Sentinels or the nodes of a cluster have to
	// notice a death and to vote. That takes them up to three seconds.
	unhurried = 1.5
)

// pace is the default time scale of a scenario in real time: 0.2 plays 10 s in 2
// s. [CheckPace] allows it.
func pace(s *scenarios.Scenario, l *locks.Lock) float64 {
	bearable := float64(4*locks.LongestOperation) / float64(s.ShortestLease())
	return max(suitable(s, l), bearable)
}

// suitable is the time scale at which real servers can do the work of the scenario.
func suitable(s *scenarios.Scenario, l *locks.Lock) float64 {
	switch {
	case s.Has(func(t history.Traits) bool { return t.Promotes }):
		return unhurried
	case l.Bundled() != nil,
		l.Claims.Fairness && s.Has(func(t history.Traits) bool { return t.EndsProcess }),
		needsOf(s, l).replicas && s.Has(func(t history.Traits) bool { return t.StopsNode }):
		return asWritten
	case l.Groups > 1 && l.Terms(s.Setting()).Quorum == l.Groups:
		return brisk
	}
	return quick
}

// checkPace returns the reason why a scenario cannot be played at a scale, or nil.
func checkPace(s *scenarios.Scenario, scale float64) error {
	shortest := s.ShortestLease()
	if at := locks.Scaled(shortest, scale); at < 4*locks.LongestOperation {
		return fmt.Errorf("at a time scale of %g the lease of %s lasts %s: it must be at least %s, four times the longest operation",
			scale, shortest, at, 4*locks.LongestOperation)
	}
	return nil
}
