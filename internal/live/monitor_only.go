package live

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/internal/redis/keyspace"
)

// An external server may send no keyspace events, and the observer does not
// change that setting. Then it has only the commands. The shadow has the
// server's data, so a repeated command has the same effect there. The server's
// time of the next line shows whether a key has expired.
//
// The server takes that time at the end of the command, microseconds after it
// has checked for expired keys. So a command at the moment of the expiry may
// count as later. The regular comparison with the server then shows a
// difference.

// runOut reports the keys that have expired when the node's clock shows now. by is
// the true time.
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

func (o *observer) ofRun(name string) bool { return strings.Contains(name, o.truth.servers.RunKey()) }

// note remembers the names of the run's keys and channels in a line.
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

func (o *observer) Named() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Collect(maps.Keys(o.names))
}

// edge is the possible error of the shadow's moment of expiry before the first
// comparison.
const edge = 10 * time.Millisecond

// justOver reports whether two values differ only because a key has expired to
// within edge, and one of the two already shows it.
func justOver(a, b keyspace.Value, now time.Time) bool {
	if a.Exists() {
		a, b = b, a
	}
	return !a.Exists() && !b.ExpireAt.IsZero() && b.ExpireAt.Sub(now).Abs() < edge
}
