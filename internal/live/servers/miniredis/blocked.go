package miniredis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	redis "github.com/alicebob/miniredis/v2/server"

	"github.com/holdfast-go/holdfast/internal/redis/keyspace"
)

// blocked is a request that waits for others, such as a BLPOP of an empty list.
type blocked struct {
	session *session
	args    []string
	served  chan struct{} // closed when there is a reply, or the server ends
	reply   string
}

// dispatch executes a request. One that has to wait is in s.blocked then, and
// has no reply. Called with exec held.
func (s *session) dispatch(command string, args []string) {
	srv := s.server
	switch command {
	case "MULTI":
		s.multi = true
	case "EXEC", "DISCARD":
		s.multi = false
	}
	srv.inScript = strings.HasPrefix(command, "EVAL") || command == "EXEC"
	defer func() { srv.inScript = false }()
	if !keyspace.MayWait(args) {
		srv.mr.Server().Dispatch(s.peer, args)
		return
	}
	args = keyspace.PinLastEntry(args, srv.data.LastEntry)
	if s.multi {
		srv.mr.Server().Dispatch(s.peer, keyspace.QueuedForm(args))
		return
	}
	reply, found := keyspace.TryNow(srv.mr, args, s.peer.Resp3)
	if found {
		s.peer.WriteRaw(reply)
		return
	}
	s.blocked = &blocked{session: s, args: args, served: make(chan struct{})}
	srv.blocked = append(srv.blocked, s.blocked)
}

// refuse answers commands that wait, of a script: miniredis would wait inside it.
func (s *server) refuse(c *redis.Peer, command string, args ...string) (done bool) {
	if !s.inScript || !keyspace.MayWait(append([]string{command}, args...)) {
		return false
	}
	s.wrong = fmt.Errorf("cannot follow %s in a script on miniredis", command)
	c.WriteError("ERR " + s.wrong.Error())
	return true
}

// serveBlocked gives what has come to those that wait for it, in the order in
// which they came. Called with exec held.
func (s *server) serveBlocked(now time.Time) {
	for i, b := range s.blocked {
		reply, found := keyspace.TryAgain(s.mr, b.args, b.session.peer.Resp3)
		if !found {
			continue
		}
		s.blocked = slices.Delete(s.blocked, i, i+1)
		b.reply = reply
		s.observe(now, b.session.from, strings.ToUpper(b.args[0])) // serves those behind it
		close(b.served)
		return
	}
}

// wait returns when the request that is blocked has a reply, by what others did
// or because its time is over. false ends the connection.
func (s *session) wait() bool {
	b, srv := s.blocked, s.server
	s.blocked = nil
	var over <-chan time.Time
	if d := keyspace.WaitTimeout(b.args); d > 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		over = t.C
	}
	gone, watched := keyspace.WatchForData(s.in)
	s.watched = watched
	select {
	case <-b.served:
	case <-over:
	case <-gone:
	}
	srv.exec.Lock()
	defer srv.exec.Unlock()
	srv.blocked = slices.DeleteFunc(srv.blocked, func(x *blocked) bool { return x == b })
	b.reply = cmp.Or(b.reply, keyspace.TimedOut)
	s.peer.WriteRaw(b.reply)
	return !srv.closed
}
