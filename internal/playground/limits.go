package playground

import (
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/internal/input"
	"github.com/holdfast-go/holdfast/scenarios"
)

// Limits of one run, for every visitor. Each scenario of the catalogue keeps
// them as it is.
const (
	// maxRequest is the largest number of bytes of a request.
	maxRequest = 8 << 10
	// RunTime is the processor time that a run may take.
	RunTime = 10 * time.Second
	// answerTime is the time that an answer may take, with the search for a
	// survivor.
	answerTime = 40 * time.Second

	maxSet     = 64               // parameters of a request
	maxSeed    = 1<<53 - 1        // JavaScript counts no further
	maxClients = 16               // processes
	maxHolds   = 30               // of each owner
	maxHeld    = 200              // critical sections of a run, nested ones included
	longest    = 10 * time.Minute // of one time
	virtual    = 3 * time.Hour    // of a run in which everybody waits for everybody
	slowest    = 0.5              // rate of a clock
	fastest    = 2.0
)

// refusedError says why a request is not played. Its text is safe to print.
type refusedError struct{ Reason, Hint string }

func (e *refusedError) Error() string { return e.Reason }

func refuse(format string, args ...any) error {
	return &refusedError{Reason: input.Sprintf(format, args...)}
}

// bounds are those of a number of things.
func bounds(path string) (lo, hi int) {
	_, key, _ := strings.Cut(path, ".")
	switch {
	case key == "clients":
		return 1, maxClients
	case strings.HasSuffix(path, ".holds"):
		return 1, maxHolds
	case key == "replicas", key == "acks":
		return 0, 3
	case key == "groups":
		return 0, 9
	case key == "owners":
		return 1, 8
	}
	return 1, 100 // which of several moments
}

// bounded refuses a scenario that would take too long.
func bounded(s *scenarios.Scenario) error {
	held, total := 0, time.Duration(0)
	for i := range s.Topology.Clients {
		w := s.WorkloadOf(i + 1)
		owned := w.AtOnce() * w.Holds * w.Sections()
		held += owned * (1 + len(w.Nested))
		total += time.Duration(w.Start) + time.Duration(owned)*time.Duration(w.Wait+w.Think+w.Rest)
	}
	for _, f := range s.Faults {
		total += time.Duration(f.After + f.Within + f.For)
		if f.At != nil {
			total += time.Duration(*f.At)
		}
	}
	if held > maxHeld {
		return &refusedError{fmt.Sprintf("these clients take the lock %d times, and at most %d are allowed here", held, maxHeld), "choose fewer clients or holds; holdfast run has no such limit"}
	}
	if total > virtual {
		return &refusedError{fmt.Sprintf("such a run could take %s of virtual time, and at most %s is allowed here", brief(total.Round(time.Second)), brief(virtual)), "choose shorter times, fewer clients or fewer holds; holdfast run has no such limit"}
	}
	return nil
}
