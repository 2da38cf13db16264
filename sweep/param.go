// Package sweep asks how likely a hazard is: it plays a scenario with many
// seeds at every value of one or two of its parameters, counts the runs in
// which two owners held the lock and those that lost an update, and says how
// sure the numbers are. It runs nothing itself; who does hands in the verdicts.
package sweep

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/scenarios"
)

// Value is what a parameter is set to: nanoseconds, or a number of things.
type Value int64

// Param is one number of a scenario that can be swept.
type Param struct {
	Name    string
	Summary string // one line, for the docs and the help
	Count   bool   // a number of things, not a time
	noun    string // how a sentence says it, around the value
	label   string // of an axis
	set     func(s *scenarios.Scenario, v Value) error
}

// Params lists the parameters, by name.
func Params() []Param {
	return []Param{
		{Name: "acks", Summary: "how many replicas must confirm a grant, for locks that wait for them", Count: true,
			noun: "grants that %s must confirm", label: "replicas that must confirm", set: setAcks},
		{Name: "clock-jump", Summary: "how far the clock jumps, in the clock-jump faults", noun: "a clock jump of %s", label: "clock jump",
			set: ofFaults("clock-jump", func(f *faults.Spec, v faults.Duration) { f.By = v })},
		{Name: "delay", Summary: "how late messages are: by of the delay faults, or the latency where there are none",
			noun: "a message delay of %s", label: "message delay", set: setDelay},
		{Name: "hold", Summary: "how long every client works in its critical sections", noun: "holds of %s", label: "length of a hold", set: setHold},
		{Name: "lag", Summary: "how late replication is: by of the replication-lag faults, or all of it where there are none", noun: "a replication lag of %s", label: "replication lag", set: setLag},
		{Name: "lease", Summary: "the lease of the workload, or TTL", noun: "a lease of %s", label: "lease", set: setLease},
		{Name: "pause", Summary: "how long the pause faults last", noun: "a pause of %s", label: "length of the pause",
			set: ofFaults("pause", func(f *faults.Spec, v faults.Duration) { f.For = v })},
		{Name: "replicas", Summary: "how many replicas each primary has", Count: true, noun: "%s", label: "replicas", set: setReplicas},
	}
}

func paramNames() []string {
	var names []string
	for _, p := range Params() {
		names = append(names, p.Name)
	}
	return names
}

// findParam finds a parameter by its name.
func findParam(name string) (Param, error) {
	all := Params()
	i := slices.IndexFunc(all, func(p Param) bool { return p.Name == name })
	if i >= 0 {
		return all[i], nil
	}
	hint := "parameters: " + strings.Join(paramNames(), ", ")
	if near := scenarios.Nearest(name, paramNames()); len(near) > 0 {
		hint = "did you mean " + strings.Join(near, ", ") + "?"
	}
	return Param{}, fmt.Errorf("unknown parameter %q\nhint: %s", name, hint)
}

// ofFaults sets something in every fault of a kind.
func ofFaults(kind string, set func(f *faults.Spec, v faults.Duration)) func(*scenarios.Scenario, Value) error {
	return func(s *scenarios.Scenario, v Value) error {
		found := false
		for i := range s.Faults {
			if s.Faults[i].Fault == kind {
				set(&s.Faults[i], faults.Duration(v))
				found = true
			}
		}
		if !found {
			return fmt.Errorf("it has no fault %s", kind)
		}
		return nil
	}
}

// setDelay leaves a quarter of spread to messages that all have the delay, as
// the lag of replication has.
func setDelay(s *scenarios.Scenario, v Value) error {
	err := ofFaults("delay", func(f *faults.Spec, by faults.Duration) { f.By, f.Jitter = by, min(f.Jitter, by) })(s, v)
	if err == nil {
		return nil
	}
	if time.Duration(v) < 10*time.Microsecond {
		return errors.New("a message takes 10µs at least")
	}
	s.Topology.Latency = scenarios.Latency{Min: faults.Duration(v), Max: faults.Duration(v + v/4)}
	return nil
}

func setHold(s *scenarios.Scenario, v Value) error {
	think := faults.Duration(v)
	s.Workload.Think = think
	for name, o := range s.Override {
		if o.Think != nil {
			o.Think = &think
			s.Override[name] = o
		}
	}
	return nil
}

func setLag(s *scenarios.Scenario, v Value) error {
	err := ofFaults("replication-lag", func(f *faults.Spec, by faults.Duration) { f.By, f.Jitter = by, min(f.Jitter, by) })(s, v)
	if err == nil {
		return nil
	}
	if s.Topology.Replicas == 0 {
		return errors.New("it has no replica, so there is no replication to be late")
	}
	s.Topology.Lag = faults.Duration(v)
	return nil
}

func setLease(s *scenarios.Scenario, v Value) error {
	s.Workload.Lease = faults.Duration(v)
	return nil
}

func setReplicas(s *scenarios.Scenario, v Value) error {
	s.Topology.Replicas = int(v)
	return nil
}

func setAcks(s *scenarios.Scenario, v Value) error {
	s.Workload.Acks = int(v)
	return nil
}
