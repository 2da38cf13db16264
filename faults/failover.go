package faults

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/checker/history"
)

// The modes of a failover. "crash" is the default.
const (
	crashes = "crash"
	planned = "planned"
	isolate = "isolate"
)

// failover makes a replica the primary. Replication is asynchronous, so writes that have
// not reached the replica are lost, and so are the locks that they granted.
var _ = register(Kind{
	Name:    "failover",
	Summary: "a replica takes over from its primary; writes that had not reached it are lost",
	Target:  "node",
	Params:  []Param{{Name: "to"}, {Name: "mode", Words: []string{crashes, planned, isolate}}},
	Lasts:   true,
	Plural:  "failovers",
	Traits: func(s Spec) history.Traits {
		stops := s.Mode == "" || s.Mode == crashes || s.Mode == unknown
		return history.Traits{
			Instant: true, Promotes: true, LosesWrites: true, ForgetsScripts: true, StopsNode: stops, Refuses: stops,
			Forks: s.Mode == isolate || s.Mode == unknown, BreaksConnections: true, // those of redirected clients
		}
	},
	NeedsServers: true,
	Variant:      modeBut(crashes),
	Draw: func(d dice, s *Spec) {
		if d.Topology().Replicas == 0 {
			return // the topology does not allow it
		}
		p := d.Primary()
		s.Target = Names{p}
		s.To = d.Replica(p)
		switch d.Number(0, 5) {
		case 0:
			s.Mode = planned
		case 1:
			s.Mode = isolate
		default:
			s.For = d.Between(500*time.Millisecond, 4000*time.Millisecond)
		}
	},
	Available: func(s Spec, t Topology) error {
		if t.Replicas == 0 {
			return errors.New("needs a replica to take over: the topology has none (replicas: 1 or more)")
		}
		if len(s.Target) != 1 {
			return errors.New("takes one target, the primary that is replaced")
		}
		if s.For > 0 && s.Mode != "" && s.Mode != crashes {
			return fmt.Errorf(`a failover of mode %s does not last: leave "for" out`, s.Mode)
		}
		if group := members(t, groupOf(s.Target[0])); s.To != "" && !slices.Contains(group, s.To) {
			return fmt.Errorf("to: %q cannot take over from %s: the group is %v", s.To, s.Target[0], group)
		}
		return nil
	},
	Strike: func(w World, s Spec, t Topology, _ uint64) (string, func() error, error) {
		group, old := groupOf(s.Target[0]), s.Target[0]
		if old != primaryName && s.Traits().StopsNode {
			w.Condemn(old) // before any question, which takes real servers a moment
		}
		if now := w.Primary(group); old == primaryName {
			old = now
		} else if now != old {
			return "", nil, fmt.Errorf("%s is not the primary now: %s is", old, now)
		}
		to := s.To
		for _, node := range append(members(t, group)[1:], members(t, group)[0]) {
			if to == "" && node != old {
				to = node
			}
		}
		detail, heal, err := takeOver(w, old, to, s.Mode)
		if s.For == 0 {
			heal = nil // the old primary stays down to the end of the run
		}
		return detail, heal, err
	},
})

// takeOver promotes to, which replaces old.
func takeOver(w World, old, to, mode string) (detail string, heal func() error, err error) {
	switch mode {
	case planned:
		return fmt.Sprintf("%s promoted, %s follows it", to, old), nil, w.HandOver(to)
	case isolate:
		return fmt.Sprintf("%s promoted; %s still serves whoever can only reach it", to, old), nil, w.Promote(to)
	}
	if err := w.Prefer(to); err != nil {
		return "", nil, err
	}
	if err := w.StopNode(old); err != nil {
		return "", nil, err
	}
	heal = func() error {
		if err := w.StartNode(old, true); err != nil {
			return err
		}
		return w.Follow(old)
	}
	if err := w.Promote(to); err != nil {
		return "", nil, errors.Join(err, w.StartNode(old, true))
	}
	return fmt.Sprintf("%s crashed, %s promoted", old, to), heal, nil
}
