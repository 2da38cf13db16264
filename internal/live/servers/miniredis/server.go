package miniredis

import (
	"encoding/gob"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/holdfast-go/holdfast/internal/redis/keyspace"
)

// server is miniredis, executing one request at a time and noticing what every
// one has changed.
type server struct {
	mr      *miniredis.Miniredis
	serving sync.WaitGroup // connections

	exec   sync.Mutex // held while a request executes; guards what follows
	data   keyspace.Data
	next   time.Time   // the earliest expiry, zero for none
	expiry *time.Timer // looks for it; nil for none
	conns  map[net.Conn]bool
	told   map[net.Conn]*gob.Encoder // those that get a report of every request
	closed bool

	blocked  []*blocked // requests that wait for others, oldest first
	inScript bool       // what executes is a script, or a transaction
	wrong    error      // what the request that executes cannot be followed for
}

// accept serves every connection of a listener until that is closed.
func (s *server) accept(l net.Listener) error {
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		if s.join(c) {
			s.serving.Go(func() {
				defer s.leave(c)
				newSession(s, c).serve()
			})
		}
	}
}

func (s *server) join(c net.Conn) bool {
	s.exec.Lock()
	defer s.exec.Unlock()
	if s.closed {
		c.Close()
		return false
	}
	s.conns[c] = true
	return true
}

func (s *server) leave(c net.Conn) {
	c.Close()
	s.exec.Lock()
	defer s.exec.Unlock()
	delete(s.conns, c)
	delete(s.told, c)
}

// close breaks every connection and returns when nothing runs any more.
func (s *server) close() {
	s.exec.Lock()
	s.closed = true
	s.unschedule()
	for c := range s.conns {
		c.Close()
	}
	s.exec.Unlock()
	s.serving.Wait()
	s.mr.Close()
}

// observe tells what has changed since it was last called. Called with exec
// held, after the server's clock was set to now.
func (s *server) observe(now time.Time, from, command string) {
	changes, err := s.data.Update(s.mr, now)
	for i := range changes {
		c := &changes[i]
		c.Cause, c.At = "command", now
		if command == "" || c.Expired() {
			c.Cause, c.At = "expiry", c.Before.ExpireAt
		}
	}
	if command != "" || len(changes) > 0 {
		r := Report{At: now, From: from, Command: command, Changes: changes}
		if err = errors.Join(s.wrong, err); err != nil {
			r.Wrong = err.Error()
		}
		s.wrong = nil
		s.tell(r)
	}
	s.schedule()
	s.serveBlocked(now)
}

// expire notices the keys that have run out by now. Called with exec held,
// after the server's clock was set to now.
func (s *server) expire(now time.Time) {
	if !s.next.IsZero() && !s.next.After(now) {
		s.unschedule()
		s.observe(now, "", "")
	}
}

// schedule looks again when the next key runs out.
func (s *server) schedule() {
	next := s.data.NextExpiry()
	if next.Equal(s.next) {
		return
	}
	s.unschedule()
	if next.IsZero() || s.closed {
		return
	}
	s.next = next
	s.expiry = time.AfterFunc(max(time.Until(next), 1), func() {
		s.exec.Lock()
		defer s.exec.Unlock()
		if !s.closed {
			now := time.Now()
			s.mr.SetTime(now)
			s.unschedule() // whatever it finds, it is to look again at the right time
			s.observe(now, "", "")
		}
	})
}

func (s *server) unschedule() {
	if s.expiry != nil {
		s.expiry.Stop()
	}
	s.expiry, s.next = nil, time.Time{}
}
