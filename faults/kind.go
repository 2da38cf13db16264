package faults

import (
	"time"

	"github.com/holdfast-go/holdfast/checker/history"
)

// Kind is one entry of the vocabulary, with all knowledge about a fault. No other package
// names a fault.
type Kind struct {
	Name    string
	Summary string  // one line, for "holdfast list faults" and the docs
	Plural  string  // "failovers", for the counts of a sweep; "" for a fault that is only a side effect
	Target  string  // the kind of Target: "client", "node", "link"
	anyLink bool    // of links: that of a replica may be the target, too
	Clients bool    // a client may be the target as well, in scenarios that say so: no run draws one
	Params  []Param // the optional keys of Spec that it accepts
	Lasts   bool    // whether it uses For

	// Traits are the possible effects of the fault, for the judges.
	Traits func(s Spec) history.Traits
	// NeedsServers is true if the fault must control the servers, beyond client
	// processes, their links and the lock's own keys.
	NeedsServers bool
	// NeedsRequests is true if the fault must control single requests at a server.
	NeedsRequests bool
	// LinksOnly is true if the fault touches only its links: what they carry while it
	// lasts, and the connections that are opened over them. While they carry nothing, it
	// may as well begin later.
	LinksOnly bool
	// NeedsUser is true if real clients must log in as a user of their own, whose rights
	// the fault takes. It is then one that miniredis does not have.
	NeedsUser bool
	// Undrawn is true if explored runs leave the fault out. Its effect depends on what
	// the scenario does before and after.
	Undrawn bool
	// RedisOnly returns the reason why only Redis supports the fault, or "";
	// nil means that bundled servers support it too.
	RedisOnly func(s Spec) (why string)
	// Variant names the variant of a Spec that is a separate hazard; nil means
	// that all variants are one hazard.
	Variant func(s Spec) string
	// Sweep is the parameter that a sweep can vary, or nil.
	Sweep *sweep
	// Draw draws the parameters of the fault for an explored run, except target
	// and time; nil for a fault without parameters.
	Draw func(d dice, s *Spec)

	// Available returns the reason why a topology does not support the fault, or nil.
	Available func(s Spec, t Topology) error
	// Strike injects the fault.
	Strike strikeFunc
}

// Param is an optional key of a Spec.
type Param struct {
	Name  string
	Words []string // the allowed values, if they are few
}

// sweep is a parameter of a fault that a sweep can vary.
type sweep struct {
	Param   string // its name on the command line
	Summary string // one line, for the help and the docs
	Noun    string // the phrase of a sentence, around the value
	Label   string // of an axis
	Signed  bool   // it may be negative
	Set     func(s *Spec, v Duration)
	// Otherwise is the setting to vary in a scenario without the fault:
	// [Latency], [Lag], or nothing.
	Otherwise string
}

// The settings that a sweep varies in a topology without its fault.
const (
	Latency = "latency"
	Lag     = "lag"
)

// dice draw the parameters of a fault. The same draws in the same order give the
// same fault.
type dice interface {
	Number(lo, hi int) int
	Chance(n int) bool // true once in n times
	Between(lo, hi time.Duration) Duration
	Lasts() Duration // duration of a fault: a moment, a large part of a lease, or more

	Lease() time.Duration // of the run
	Topology() Topology
	Survivable() bool // whether the reference lock must survive the run
	Primary() string
	Replica(of string) string // there must be one
	Peers() Names             // the other side of a client's links
}

// unknown stands for any value of a parameter.
const unknown = "?"

// Targets are the kinds of parties that the fault strikes, "node or client".
func (k Kind) Targets() string {
	if k.Clients {
		return k.Target + " or client"
	}
	return k.Target
}

// Possible are all traits that the fault may have, over all parameters.
func (k Kind) Possible() history.Traits {
	return k.Traits(k.unknown())
}

func (k Kind) unknown() Spec {
	s := Spec{Fault: k.Name}
	for _, p := range k.Params {
		switch p.Name {
		case "data":
			s.Data = unknown
		case "direction":
			s.Direction = unknown
		case "mode":
			s.Mode = unknown
		}
	}
	return s
}

// modeBut makes every mode a separate hazard but the usual one.
func modeBut(usual string) func(Spec) string {
	return func(s Spec) string {
		if s.Mode == usual {
			return ""
		}
		return s.Mode
	}
}

// Traits returns the traits of a declared fault; none for an unknown fault.
func (s Spec) Traits() history.Traits {
	k, ok := Lookup(s.Fault)
	if !ok {
		return history.Traits{}
	}
	return k.Traits(s)
}

// Hazard names a fault, with its variant if that is a separate hazard.
func (s Spec) Hazard() string {
	if k, ok := Lookup(s.Fault); ok && k.Variant != nil {
		if v := k.Variant(s); v != "" {
			return s.Fault + "-" + v
		}
	}
	return s.Fault
}
