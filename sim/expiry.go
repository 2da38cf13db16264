package sim

import (
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/internal/redis/keyspace"
)

// reportEnd reports that holds have ended without a change of a key. The caller holds
// exec.
func (n *node) reportEnd() {
	if end := n.nextEnd(); !end.IsZero() && !end.After(n.clock.now()) {
		n.reportTime()
	}
}

// reportTime reports a time at which holds may have ended, or go on.
func (n *node) reportTime() {
	n.world.changed(keyspace.Change{Node: n.name, Role: n.role, Cause: "expiry", At: time.Now(), Now: n.clock.now()})
}

func (n *node) nextEnd() time.Time {
	if n.world.opts.NextEnd == nil {
		return time.Time{}
	}
	return n.world.opts.NextEnd(n.name)
}

// expire detects expired keys. The caller holds exec and has set the server's clock.
func (n *node) expire() {
	if !n.next.IsZero() && !n.next.After(n.clock.now()) {
		n.observe("expiry", "", "")
	}
}

// schedule observes again at the next expiry, after changes: Redis removes a key
// then, or behaves as if it had.
func (n *node) schedule(changes []keyspace.Change) {
	concerned := func(c keyspace.Change) bool {
		return c.Before.ExpireAt.Equal(n.next) || !c.After.ExpireAt.IsZero() && c.After.ExpireAt.Before(n.next)
	}
	if n.expiry != nil && !slices.ContainsFunc(changes, concerned) && n.world.opts.NextEnd == nil {
		return
	}
	next := keyspace.EarlierEnd(n.data.NextExpiry(), n.nextEnd())
	if next.Equal(n.next) && n.expiry != nil {
		return
	}
	n.unschedule()
	if next.IsZero() || !n.up {
		return
	}
	n.next = next
	n.expiry = time.AfterFunc(max(n.clock.until(next), 1), n.look)
}

func (n *node) unschedule() {
	if n.expiry != nil {
		n.expiry.Stop()
	}
	n.expiry, n.next = nil, time.Time{}
}

func (n *node) look() {
	n.exec.Lock()
	defer n.exec.Unlock()
	if n.up {
		n.mr.SetTime(n.clock.now())
		n.unschedule() // whatever happens, look again at the right time
		n.observe("expiry", "", "")
	}
}
