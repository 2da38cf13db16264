package observe

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/redis/keyspace"
)

// A server of the user's own may tell no events of keys, and it is not made to.
// Its commands are then all there is to go by. The shadow holds what the server
// holds, so it comes to the same answer as the server when a command is carried
// out again, whether or not that changes anything. When a key expires, the
// server's own time of the next line says.
//
// That time is taken when the command has been carried out, microseconds after
// the server has looked whether a key has expired. A command that comes in the
// very moment may be taken for one that came after it. The server is asked what
// it holds as often as one that tells events, and then does not agree.

// runOut reports the keys that have expired when the node's clock shows now.
// by is the true time.
func (o *observer) runOut(now, by time.Time) error {
	for _, k := range o.shadow.keys() {
		before := o.shadow.state[k]
		if before.ExpireAt.IsZero() || !now.Truncate(time.Millisecond).After(before.ExpireAt) {
			continue
		}
		o.emit(keyspace.Change{
			Key: k, Cause: "expiry", Role: rolePrimary, Before: before, At: o.truly(before.ExpireAt, o.truly(now, by)),
		}, by)
		if err := o.shadow.set(k, keyspace.Value{}); err != nil {
			return err
		}
	}
	return nil
}

// mayChange are the lock keys that a command may change.
func (o *observer) mayChange(command string, args []string) []string {
	if !o.srv.Writes(command) {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(args[1:]), func(a string) bool { return !o.truth.lockKey(a) })
}

// longestName is the longest name of a key that a lock is believed to have.
const longestName = 1 << 10

// concerns reports whether a line may be about the run: on a server of the user's
// external most are not.
func (o *observer) concerns(l monitorLine) bool {
	return !o.srv.IsExternal() || slices.ContainsFunc(l.args, o.ofRun)
}

// ofRun reports whether a name is that of a key of the run.
func (o *observer) ofRun(name string) bool { return strings.Contains(name, o.truth.servers.RunKey()) }

// note remembers the names of keys and channels that a line tells and that are
// the run's.
func (o *observer) note(l monitorLine) {
	if !o.srv.IsExternal() {
		return
	}
	for _, a := range l.args[1:] {
		if len(a) <= longestName && o.ofRun(a) {
			o.names[a] = true
		}
	}
}

// Named implements [Observer].
func (o *observer) Named() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Collect(maps.Keys(o.names))
}

// edge is how far the moment of expiry may be off that the shadow knows before
// it has compared.
const edge = 10 * time.Millisecond

// justOver reports whether two values differ because the time of a key is over to
// within edge, and one of the two knows already.
func justOver(a, b keyspace.Value, now time.Time) bool {
	if a.Exists() {
		a, b = b, a
	}
	return !a.Exists() && !b.ExpireAt.IsZero() && b.ExpireAt.Sub(now).Abs() < edge
}
