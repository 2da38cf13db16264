package checker

import (
	"fmt"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/checker/internal/linear"
)

// Some locks live in a session, a connection to the server. Such a hold ends
// with its connection, and a connection with its process. Only the server observes
// the instant; the lock claims a bound for it.

// endOfSession is when the connection of a hold may have ended before a time; how
// is empty if nothing ended it.
func (t *trace) endOfSession(c *Belief, by int64) (when int64, how string) {
	if t.claims.Session == 0 {
		return 0, ""
	}
	when = never
	if crash, crashed := t.crashed[c.Client]; crashed && crash >= c.From {
		when, how = crash, fmt.Sprintf("the session of %s ended when its process died, at %s", c.Owner, at(crash))
	}
	for _, f := range t.faults {
		if !f.BreaksConnections || !f.touchesClient(c.Client) || plus(f.to, t.allow.settling) < c.From || f.from >= when {
			continue
		}
		when, how = max(f.from, c.From), fmt.Sprintf("the session of %s ended with its connection, in the fault at %s", c.Owner, at(f.from))
	}
	if when > by {
		return 0, ""
	}
	return when, how
}

// endsOfSessions adds the ends of sessions to the operations on a lock: each is a
// release that may take effect at any later time.
func (t *trace) endsOfSessions(lock string, ops []linear.Op) []linear.Op {
	if t.claims.Session == 0 {
		return ops
	}
	for i := range t.beliefs {
		c := &t.beliefs[i]
		if c.Lock != lock {
			continue
		}
		if when, how := t.endOfSession(c, t.endTime); how != "" && t.op(c.AcquireOp).kind == history.OK {
			ops = append(ops, linear.Op{
				ID: c.AcquireOp, Owner: t.who.Number(c.Owner), Kind: linear.MaybeGave, Call: when, Return: linear.Forever, Asked: when,
			})
		}
	}
	return ops
}
