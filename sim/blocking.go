package sim

import (
	"bufio"
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/internal/redis/keyspace"
	"github.com/holdfast-go/holdfast/sim/internal/script"
)

// blocked is a request that waits for others, such as a BLPOP of an empty list.
type blocked struct {
	session *session
	args    []string
	served  chan struct{} // closed when there is a reply
	reply   string
	changed bool // a lock key
}

// dispatch lets the server process execute a request, and returns the keys that it
// may have changed. A request that must wait has no reply, and is in s.blocked
// afterwards. The caller holds exec.
func (s *session) dispatch(cmd string, args []string) script.Keys {
	n := s.node
	switch cmd {
	case "MULTI":
		s.multi = true
	case "EXEC":
		s.multi = false
	case "DISCARD":
		s.multi, s.published = false, nil
	}
	n.asker, n.inScript, n.wrote = s, isScript(cmd) || cmd == "EXEC", false // which may contain one
	defer func() { n.asker, n.inScript, n.wrote, n.declared = nil, false, false, nil }()
	if isScript(cmd) {
		keys, _ := keysOf(cmd, args)
		n.declared = append([]string{}, keys...)
	}
	if s.multi && n.compares(cmd, args[1:]) { // miniredis keeps it as a script until EXEC
		args = append([]string{"EVAL", "return redis.pcall(unpack(ARGV))", "0"}, args...)
	}
	if !keyspace.MayWait(args) {
		return s.requests.Execute(args)
	}
	args = keyspace.PinLastEntry(args, n.data.LastEntry)
	if s.multi {
		return s.requests.Execute(keyspace.QueuedForm(args))
	}
	reply, found := keyspace.TryNow(n.mr, args, s.peer.Resp3)
	if found {
		s.peer.WriteRaw(reply)
		return script.Keys{Any: true}
	}
	s.blocked = &blocked{session: s, args: args, served: make(chan struct{})}
	n.blocked = append(n.blocked, s.blocked)
	return script.Keys{}
}

// serveBlocked gives new values to the requests that wait for them, in order of
// arrival. The caller holds exec.
func (n *node) serveBlocked() {
	for i, b := range n.blocked {
		if b.session.conn.in.ended() {
			continue // it takes itself off the list
		}
		reply, found := keyspace.TryAgain(n.mr, b.args, b.session.peer.Resp3)
		if !found {
			continue
		}
		n.blocked = slices.Delete(n.blocked, i, i+1)
		before := n.offset
		b.reply, n.sent, n.mark = reply, b.session.sent, b.session.mark
		b.changed = n.observe("command", strings.ToUpper(b.args[0]), b.session.by) // serves those behind it
		if n.offset != before {
			b.session.offset = n.offset
		}
		close(b.served)
		return
	}
}

// wait returns when the blocked request of the session has a reply, by another request or
// its timeout. ok is false if the connection or the server process has ended.
func (s *session) wait(in *bufio.Reader) (changed, ok bool) {
	b, n := s.blocked, s.node
	s.blocked = nil
	var over <-chan time.Time
	if d := keyspace.WaitTimeout(b.args); d > 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		over = t.C
	}
	gone, watched := keyspace.WatchForData(in)
	s.watched = watched
	select {
	case <-b.served:
		s.conn.peer.takeTurn() // several connections may be served at one instant
	case <-over:
	case <-gone:
	}
	n.exec.Lock()
	defer n.exec.Unlock()
	n.blocked = without(n.blocked, b)
	if !n.up || n.engine != s.process || s.conn.in.ended() {
		return b.changed, false
	}
	b.reply = cmp.Or(b.reply, keyspace.TimedOut)
	s.peer.WriteRaw(b.reply)
	return b.changed, true
}
