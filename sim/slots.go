package sim

import (
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/redis/keyspace"
)

// slots are those with which a group of a cluster begins. They move together.
type slots struct {
	owner int // the group that has them
	to    int // the group to which they migrate, 0 for none
}

// slotsOf has the slots of the group that began with a slot.
func (w *World) slotsOf(slot int) slots {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.slots[keyspace.Owner(slot, w.opts.Groups)-1]
}

// slotMap is the slot map for a client that can reach the cluster.
func (w *World) slotMap(p *Process) []redis.ClusterSlot {
	var m []redis.ClusterSlot
	for g := 1; g <= w.opts.Groups; g++ {
		first, last := keyspace.SlotsOf(g, w.opts.Groups)
		n := w.routeOf(p.Name(), w.slotsOf(first).owner)
		m = append(m, redis.ClusterSlot{Start: first, End: last, Nodes: []redis.ClusterNode{{ID: n.name, Addr: n.addr.String()}}})
	}
	return m
}

// redirect is the error of a cluster's node that does not serve a request for keys, or "".
// While their slot migrates, its owner serves what is here, and the other node serves a
// request after ASKING. Neither does if it has a part of the keys. The caller holds exec.
func (n *node) redirect(keys []string, asking bool) string {
	keys = slices.Compact(slices.Sorted(slices.Values(keys)))
	slot := keyspace.SlotOf(keys[0])
	s, missing := n.world.slotsOf(slot), 0
	for _, k := range keys {
		if !n.mr.Exists(k) {
			missing++
		}
	}
	owns, imports := n.role == rolePrimary && s.owner == n.group, n.role == rolePrimary && s.to == n.group && asking
	switch {
	case owns && (s.to == 0 || missing == 0), imports && (missing == 0 || len(keys) == 1):
		return ""
	case imports, owns && missing < len(keys):
		return "TRYAGAIN Multiple keys request during rehashing of slot"
	case owns:
		return fmt.Sprintf("ASK %d %s", slot, n.world.primaryOf(s.to).addr)
	}
	return fmt.Sprintf("MOVED %d %s", slot, n.world.primaryOf(s.owner).addr)
}

// MoveSlots implements [faults.World]. It moves all slots of the primary.
func (w *World) MoveSlots(from, to string, keysFirst bool) (finish func() error, err error) {
	source, err := w.node(from)
	if err != nil {
		return nil, err
	}
	target, err := w.node(to)
	if err != nil {
		return nil, err
	}
	if keysFirst {
		err = w.moveKeys(source, target)
	}
	if err != nil {
		return nil, err
	}
	w.setSlots(source.group, slots{owner: source.group, to: target.group})
	return func() error {
		err := w.moveKeys(source, target)
		if err == nil {
			w.setSlots(source.group, slots{owner: target.group})
			source.redirectBlocked()
		}
		return err
	}, nil
}

// setSlots says what has become of all slots that a group owns.
func (w *World) setSlots(owner int, now slots) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for g := range w.slots {
		if w.slots[g].owner == owner {
			w.slots[g] = now
		}
	}
}

// moveKeys gives all keys of a node to another one at one instant. As with MIGRATE, the
// other node has a key before the first one loses it.
func (w *World) moveKeys(from, to *node) error {
	for _, n := range []*node{from, to} {
		n.exec.Lock()
		defer n.exec.Unlock()
		if !n.up {
			return fmt.Errorf("%s is down", n.name)
		}
		n.mr.SetTime(n.clock.now())
		n.expire()
	}
	for _, k := range sortedKeys(from.data) {
		v := from.data[k]
		if !v.ExpireAt.IsZero() {
			v.ExpireAt = to.clock.now().Add(v.ExpireAt.Sub(from.clock.now()))
		}
		if err := keyspace.Write(to.mr, k, v, to.clock.now()); err != nil {
			return err
		}
		from.mr.Del(k)
	}
	to.observe("migration", "", "")
	from.observe("migration", "", "")
	return nil
}

// redirectBlocked answers the requests that wait for keys which are here no longer.
func (n *node) redirectBlocked() {
	n.exec.Lock()
	defer n.exec.Unlock()
	for _, b := range n.blocked {
		keys, _ := keysOf(b.args[0], b.args)
		b.reply = "-" + n.redirect(keys, false) + "\r\n"
		close(b.served)
	}
	n.blocked = nil
}

// publication is a message on its way to the other nodes of a cluster.
type publication struct{ channel, text string }

// notePublished keeps a message that a request or a script publishes in a cluster. The
// caller holds exec.
func (n *node) notePublished(cmd string, args []string) {
	if cmd == "PUBLISH" && len(args) == 2 && n.asker != nil && n.world.opts.Cluster && !n.world.opts.Server.Sharded {
		n.asker.published = append(n.asker.published, publication{args[0], args[1]})
	}
}

// broadcast gives the published messages to the subscribers on the other nodes of a
// cluster. It takes no time, and no fault of the network concerns it.
func (s *session) broadcast() {
	if s.multi || len(s.published) == 0 { // as after almost every request
		return
	}
	for _, name := range s.node.world.order {
		other := s.node.world.nodes[name]
		if other == s.node {
			continue
		}
		other.exec.Lock()
		for _, m := range s.published {
			if other.up {
				other.mr.Publish(m.channel, m.text)
			}
		}
		other.exec.Unlock()
	}
	s.published = nil
}
