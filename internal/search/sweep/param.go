// Package sweep measures the probability of a hazard over one or two parameters of a
// scenario. At every value it plays many seeds. It counts the runs in which two owners
// held the lock and those that lost an update, and computes 95 % intervals. The caller
// plays the runs and passes the verdicts in.
package sweep

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/scenarios"
)

// Value is a value of a parameter: nanoseconds, or a number of things.
type Value int64

// Param is one number of a scenario that can be swept.
type Param struct {
	Name    string
	Summary string // one line, for the docs and the help
	Count   bool   // a number of things, not a time
	noun    string // how a sentence says it, around the value
	label   string // of an axis
	signed  bool   // it may be below 0
	set     func(s *scenarios.Scenario, v Value) error
}

// Params lists the parameters, by name.
func Params() []Param {
	all := []Param{
		{Name: "acks", Summary: "how many replicas must confirm a grant, for locks that wait for them", Count: true,
			noun: "grants that %s must confirm", label: "replicas that must confirm", set: always(func(s *scenarios.Scenario, v Value) { s.Workload.Acks = int(v) })},
		{Name: "hold", Summary: "how long every client works in its critical sections", noun: "holds of %s", label: "length of a hold", set: always(setHold)},
		{Name: "lease", Summary: "the lease of the workload, or TTL", noun: "a lease of %s", label: "lease", set: always(func(s *scenarios.Scenario, v Value) { s.Workload.Lease = faults.Duration(v) })},
		{Name: "replicas", Summary: "how many replicas each primary has", Count: true, noun: "%s", label: "replicas", set: always(func(s *scenarios.Scenario, v Value) { s.Topology.Replicas = int(v) })},
	}
	for _, k := range faults.Vocabulary() {
		if s := k.Sweep; s != nil {
			all = append(all, Param{Name: s.Param, Summary: s.Summary, noun: s.Noun, label: s.Label, signed: s.Signed, set: ofFaults(k)})
		}
	}
	slices.SortFunc(all, func(a, b Param) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

func paramNames() []string {
	return english.Words(Params(), func(p Param) string { return p.Name })
}

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

// ofFaults sets something in every fault of a kind, or where there is none in
// the topology.
func ofFaults(k faults.Kind) func(*scenarios.Scenario, Value) error {
	return func(s *scenarios.Scenario, v Value) error {
		found := false
		for i := range s.Faults {
			if s.Faults[i].Fault == k.Name {
				k.Sweep.Set(&s.Faults[i], faults.Duration(v))
				found = true
			}
		}
		switch {
		case found:
			return nil
		case k.Sweep.Otherwise == faults.Latency:
			return setLatency(s, v)
		case k.Sweep.Otherwise == faults.Lag:
			return setLag(s, v)
		}
		return fmt.Errorf("it has no fault %s", k.Name)
	}
}

// setLatency leaves a quarter of spread to messages that all have the delay, as
// the lag of replication has.
func setLatency(s *scenarios.Scenario, v Value) error {
	if time.Duration(v) < 10*time.Microsecond {
		return errors.New("a message takes 10µs at least")
	}
	s.Topology.Latency = scenarios.Latency{Min: faults.Duration(v), Max: faults.Duration(v + v/4)}
	return nil
}

// always is a set that cannot fail.
func always(set func(*scenarios.Scenario, Value)) func(*scenarios.Scenario, Value) error {
	return func(s *scenarios.Scenario, v Value) error {
		set(s, v)
		return nil
	}
}

func setHold(s *scenarios.Scenario, v Value) {
	think := faults.Duration(v)
	s.Workload.Think = think
	for name, o := range s.Override {
		if o.Think != nil {
			o.Think = &think
			s.Override[name] = o
		}
	}
}

func setLag(s *scenarios.Scenario, v Value) error {
	if s.Topology.Replicas == 0 {
		return errors.New("it has no replica, so there is no replication to be late")
	}
	s.Topology.Lag = faults.Duration(v)
	return nil
}
