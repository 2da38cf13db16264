package faults

import (
	"errors"
	"fmt"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/party"
)

// When the keys of slots that migrate go to the other node. The first is the default.
const (
	keysLast  = "keys-last"
	keysFirst = "keys-first"
)

// moveSlots migrates the slots of the lock to another node of a cluster, and ends when
// that node owns them. Meanwhile clients are redirected for one request at a time. A
// request for several keys is refused unless one node has all of them.
var _ = register(Kind{
	Name:    "move-slots",
	Summary: "the lock's slots move to another node of the cluster; until they have, requests for several keys may be refused",
	Target:  "node",
	Params:  []Param{{Name: "to"}, {Name: "mode", Words: []string{keysLast, keysFirst}}},
	Lasts:   true,
	Plural:  "moves of slots",
	Traits: func(Spec) history.Traits {
		return history.Traits{Lasts: true, RefusesGrants: true, LosesNotices: true}
	},
	NeedsServers: true,
	RedisOnly:    func(Spec) string { return "slots are Redis'" },
	Undrawn:      true,
	Available: func(s Spec, t Topology) error {
		from, to := groupOf(s.Target[0]), groupOf(s.To)
		switch {
		case !t.Cluster:
			return errors.New("needs a cluster: topology.cluster is not set")
		case len(s.Target) != 1 || party.IsReplica(s.Target[0]):
			return errors.New("takes one target, the primary that has the slots")
		case to == 0 || to > t.Groups || to == from || s.To != party.Node(to):
			return fmt.Errorf(`needs "to": the primary of another group that gets the slots, of %v`, nodeNames(Topology{Groups: t.Groups}))
		}
		return nil
	},
	Strike: func(w World, s Spec, _ Topology, _ uint64) (string, func() error, error) {
		from, to := w.Primary(groupOf(s.Target[0])), w.Primary(groupOf(s.To))
		finish, err := w.MoveSlots(from, to, s.Mode == keysFirst)
		return fmt.Sprintf("the lock's slots migrate from %s to %s", from, to), finish, err
	},
})
