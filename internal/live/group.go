package live

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/internal/redis/keyspace"
)

// The roles of a node, as the histories call them.
const (
	rolePrimary = "primary"
	roleReplica = "replica"
)

// group is a unit that a node executes as one: a command, a script or a
// transaction.
type group struct {
	from    string // the connection
	command string // in upper case
	script  bool   // it ends when something comes that is not of the script
	moves   bool   // it moves a key to or from another node
	start   time.Time
	end     time.Time // of the last command so far; both by the server's clock
	keys    []string  // touched so far
	before  map[string]keyspace.Value
	changed bool // something, as has been reported
}

func newGroup(l monitorLine, command string) *group {
	return &group{from: l.from, command: command, start: l.at, end: l.at, before: map[string]keyspace.Value{}}
}

// rest is the possible rest of a script that has been reported in part.
func (g *group) rest() *group {
	return &group{from: g.from, command: g.command, script: true, start: g.start, end: g.end, before: map[string]keyspace.Value{}, changed: g.changed}
}

func (g *group) touched(key string) bool { return slices.Contains(g.keys, key) }

var scriptCommands = []string{"EVAL", "EVALSHA", "EVAL_RO", "EVALSHA_RO", "FCALL", "FCALL_RO"}

// line processes a command of the node, after its events.
func (o *observer) line(l monitorLine, at time.Time) error {
	command := strings.ToUpper(l.args[0])
	if o.group != nil && o.group.script && l.from != fromScript {
		o.closeGroup(at)
	}
	if o.group == nil {
		if err := o.serveBlocked(at); err != nil {
			return err
		}
	}
	o.latest = l.at
	o.replied(l)
	if !o.srv.TellsEvents() && o.group == nil {
		if err := o.runOut(l.at, at); err != nil {
			return err
		}
	}
	if len(o.ended) > 0 {
		o.reportEnded(o.truly(l.at, at))
	}
	if seen, expected := o.expected(command, l.args); expected {
		if seen != nil {
			seen <- mark{o.changes, o.truly(l.at, at)}
		}
		return nil
	}
	if l.db != "0" {
		return nil
	}
	o.note(l)
	switch {
	case command == "MULTI":
		o.multi[l.from] = true
		return nil
	case command == "EXEC", command == "DISCARD", command == "RESET":
		delete(o.multi, l.from)
		o.finish(l, command, at)
		return nil
	case o.group != nil: // within a script or a transaction
	case l.from == fromScript && (!o.srv.IsExternal() || slices.ContainsFunc(l.args, o.ofRun)): // most lines of an external server are of others
		return fmt.Errorf("a script has executed %q, but none had begun", l.args)
	case o.multi[l.from]:
		o.group = newGroup(l, "EXEC")
	default:
		o.group = newGroup(l, command)
		o.group.script = slices.Contains(scriptCommands, command)
	}
	o.group.moves = o.group.moves || command == "ECHO" && slices.Contains(l.args, moveMark)
	err := o.execute(command, l)
	o.begins(l)
	if g := o.group; !g.script && g.command != "EXEC" {
		o.closeGroup(at)
	}
	return err
}

// finish ends a transaction, which may have changed nothing.
func (o *observer) finish(l monitorLine, command string, at time.Time) {
	if o.group == nil {
		o.group = newGroup(l, command)
	}
	o.group.end = l.at
	o.closeGroup(at)
}

// execute repeats a command in the shadow. On a node with events, a command
// without events has changed nothing.
func (o *observer) execute(command string, l monitorLine) error {
	keys := slices.DeleteFunc(o.events, func(k string) bool { return !slices.Contains(l.args, k) }) // what was served had no line
	o.events, o.popped = nil, nil
	if !o.srv.TellsEvents() {
		keys = o.mayChange(command, l.args)
	}
	if command == "FLUSHALL" || command == "FLUSHDB" { // they have no events
		keys = o.shadow.keys()
	}
	o.group.end = l.at
	if len(keys) == 0 {
		return nil
	}
	if err := o.cannotFollow(command, l.args); err != nil {
		return err
	}
	for _, k := range keys {
		if !o.group.touched(k) {
			o.group.keys = append(o.group.keys, k)
			o.group.before[k] = o.shadow.state[k]
		}
	}
	now := o.group.start.Truncate(time.Millisecond) // as Redis counts
	if o.srv.IsPeer(o.group.from) {
		// A replica learns when keys expire, not for how long they live, and keeps them
		// when that is over. Every expiry that it gets lies ahead of now.
		now = time.Unix(1, 0)
	}
	err := o.shadow.replay(l.args, slices.Compact(slices.Sorted(slices.Values(keys))), now)
	if !o.srv.TellsEvents() {
		return nil // the server has refused it as well; what it holds is compared
	}
	return err
}

func (o *observer) closeGroup(by time.Time) {
	g := o.group
	if g == nil {
		return
	}
	o.group = nil
	for _, k := range g.keys {
		before, after := g.before[k], o.shadow.state[k]
		if before.Equal(after) {
			continue
		}
		g.changed = true
		o.emit(o.explain(g, keyspace.Change{Key: k, Before: before, After: after, At: o.truly(g.end, by), Now: g.end}), by)
	}
	if !o.srv.IsExternal() || o.srv.Party(g.from) != "" {
		o.changedBy[sender{g.from, g.command}] = g.changed
	}
}

// explain adds the author and the cause to a change.
func (o *observer) explain(g *group, c keyspace.Change) keyspace.Change {
	c.Role = rolePrimary
	party := o.srv.Party(g.from)
	switch {
	case o.srv.IsPeer(g.from):
		c.Role, c.Cause = roleReplica, "replication"
		return o.ranOut(c)
	case party != "":
		c.Cause, c.Command, c.By = "command", g.command, party
	case g.moves:
		c.Cause = "migration"
	default: // the harness itself
		c.Cause = "fault"
	}
	return c
}
