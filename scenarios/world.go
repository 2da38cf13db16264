package scenarios

import (
	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/subject"
)

// World is what the simulated world is made of when the scenario is played
// with a lock: who writes a scenario needs to know whom its faults can strike.
func (s *Scenario) World(l *subject.Subject) faults.Topology { return s.topologyFor(l) }
