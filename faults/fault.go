// Package faults defines the faults, and the schedule that injects them at the
// planned moment. Each fault is written once, against [World]. Network faults are
// toxiproxy toxics, which the simulated world attaches to its links and the live
// world to its proxies.
package faults

import (
	"time"
)

// Spec is a fault as a scenario declares it: its kind, target, time and duration.
// Its fields are the keys of the YAML.
type Spec struct {
	Fault string `yaml:"fault" json:"fault"`

	// Target is a client, a node, or for link faults one side of the link; Peer
	// is the other side. "primary" means the present primary at the time of the
	// strike. Client targets and Peer may be lists: the fault strikes each.
	Target Names `yaml:"target" json:"target,omitempty"`
	Peer   Names `yaml:"peer" json:"peer,omitempty"`

	// At anchors the fault in time, On to a moment; exactly one is given.
	// After is an extra delay once the anchor is reached.
	At    *Duration `yaml:"at" json:"at,omitempty"`
	On    *Anchor   `yaml:"on" json:"on,omitempty"`
	After Duration  `yaml:"after" json:"after,omitempty"`
	// Within adds a delay of up to this time, which the seed of the run draws uniformly.
	Within Duration `yaml:"within" json:"within,omitempty"`
	// For is the duration of the fault; 0 means to the end of the run. An
	// instant fault requires 0.
	For Duration `yaml:"for" json:"for,omitempty"`
	// Until ends the fault at a moment, instead of For. Moments count from the strike of
	// the fault. If the moment never comes, the fault lasts to the end of the run.
	Until *Anchor `yaml:"until" json:"until,omitempty"`

	// Parameters; each fault declares those that it accepts.
	By        Duration `yaml:"by" json:"by,omitempty"`               // delay, replication-lag, clock-jump, slow-subscribe
	Jitter    Duration `yaml:"jitter" json:"jitter,omitempty"`       // delay
	Rate      float64  `yaml:"rate" json:"rate,omitempty"`           // clock-drift: 1.05 runs 5 % fast
	Data      string   `yaml:"data" json:"data,omitempty"`           // restart: "keep" or "lose"
	Direction string   `yaml:"direction" json:"direction,omitempty"` // partition, delay: "both", "to-node", "to-client"
	To        string   `yaml:"to" json:"to,omitempty"`               // failover: which replica, default the first; move-slots: which primary
	Mode      string   `yaml:"mode" json:"mode,omitempty"`           // cancel: "last" (default) or "first"; failover: "crash" (default), "planned" or "isolate"; half-open: "node-gone" (default), "client-gone" or "silent"; deny: "channels" (default), "expiry" or "memory"; move-slots: "keys-last" (default) or "keys-first"
}

// Anchor selects the nth moment that matches; empty fields match anything.
type Anchor struct {
	Moment  string `yaml:"moment" json:"moment"`
	Client  string `yaml:"client" json:"client,omitempty"`
	Node    string `yaml:"node" json:"node,omitempty"`
	Op      string `yaml:"op" json:"op,omitempty"`
	Command string `yaml:"command" json:"command,omitempty"`
	Changed bool   `yaml:"changed" json:"changed,omitempty"` // only moments that changed a lock key
	Nth     int    `yaml:"nth" json:"nth,omitempty"`         // 1 is the first and the default
}

// Duration is a time.Duration that reads and writes as "1.5s" in YAML and JSON.
type Duration time.Duration

// Names is a list of names that reads from one string or a list of strings.
type Names []string
