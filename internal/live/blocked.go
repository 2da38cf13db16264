package live

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/internal/redis/keyspace"
)

// A server shows a waiting request, such as BLPOP, when it starts to wait. When
// a value arrives for it, the server sends the events without a command, right
// after the command that added the value. The shadow then executes the request
// for the oldest waiter.
//
// A client that disconnected or timed out a moment before may look like a
// waiter. Then only the author of the change is wrong; the data is right.

// pops are the events of taking something from a list or a sorted set.
var pops = []string{"lpop", "rpop", "zpopmin", "zpopmax"}

// replied records that a connection does not wait, because it sends another
// request.
func (o *observer) replied(l monitorLine) {
	o.blocked = slices.DeleteFunc(o.blocked, func(b monitorLine) bool { return b.from == l.from })
}

// begins records a request that has started to wait: it changed nothing.
func (o *observer) begins(l monitorLine) {
	if l.from == fromScript || o.multi[l.from] || !keyspace.MayWait(l.args) || !slices.ContainsFunc(l.args, o.truth.lockKey) {
		return
	}
	if !slices.ContainsFunc(o.group.keys, func(k string) bool { return !o.group.before[k].Equal(o.shadow.state[k]) }) {
		o.blocked = append(o.blocked, l)
	}
}

// serveBlocked executes the requests that can be served since the latest line,
// oldest first. by is the true time.
func (o *observer) serveBlocked(by time.Time) error {
	o.blocked = slices.DeleteFunc(o.blocked, func(b monitorLine) bool {
		d := keyspace.WaitTimeout(b.args)
		return d > 0 && o.latest.After(b.at.Add(d))
	})
	for i := 0; i < len(o.blocked) && (len(o.popped) > 0 || !o.srv.TellsEvents()); i++ {
		b := o.blocked[i]
		g, err := o.serve(b)
		if err != nil {
			return err
		}
		if g == nil {
			continue
		}
		o.blocked = slices.Delete(o.blocked, i, i+1)
		i = -1 // it may have passed something on to one before it
		o.group = g
		o.closeGroup(by)
	}
	return nil
}

// serve executes a waiting request. It returns the changes, or nil if the request
// goes on waiting.
func (o *observer) serve(b monitorLine) (*group, error) {
	keys := slices.DeleteFunc(slices.Clone(b.args[1:]), func(a string) bool { return !o.truth.lockKey(a) })
	keys = slices.Compact(slices.Sorted(slices.Values(keys)))
	if !slices.ContainsFunc(keys, func(k string) bool { return o.shadow.state[k].Exists() }) {
		return nil, nil
	}
	g := newGroup(b, strings.ToUpper(b.args[0]))
	g.end = o.latest
	for _, k := range keys {
		g.before[k] = o.shadow.state[k]
	}
	if err := o.cannotFollow(g.command, b.args); err != nil {
		return nil, err
	}
	if err := o.shadow.replay(b.args, keys, o.latest.Truncate(time.Millisecond)); err != nil {
		return nil, err
	}
	for _, k := range keys {
		before, after := g.before[k], o.shadow.state[k]
		if before.Equal(after) {
			continue
		}
		g.keys = append(g.keys, k)
		if at := slices.Index(o.popped, k); at >= 0 && len(after.Items) < len(before.Items) {
			o.popped = slices.Delete(o.popped, at, at+1)
		}
	}
	if g.keys == nil {
		return nil, nil
	}
	return g, nil
}

// fromElsewhere are the commands that store a value from another key.
var fromElsewhere = []string{"RENAME", "RENAMENX", "COPY", "LMOVE", "RPOPLPUSH", "SMOVE", "BLMOVE", "BRPOPLPUSH"}

// cannotFollow returns an error if the shadow cannot execute a command that
// changed a key of the lock. The shadow has only the keys of the lock, and cannot
// repeat a server's random choices.
func (o *observer) cannotFollow(command string, args []string) error {
	switch {
	case slices.Contains(fromElsewhere, command) && len(args) > 2 && o.truth.lockKey(args[1]) != o.truth.lockKey(args[2]):
		return fmt.Errorf("cannot follow %s between the key of the lock and another one", command)
	case strings.HasSuffix(command, "STORE"):
		return fmt.Errorf("cannot follow %s: it takes from other keys", command)
	case command == "SPOP" && len(args) > 1 && len(o.shadow.state[args[1]].Items) > 1:
		return fmt.Errorf("cannot follow SPOP: the server draws the member at random")
	}
	return nil
}
