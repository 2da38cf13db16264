package live

import (
	"bufio"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/live/servers"
	"github.com/holdfast-go/holdfast/internal/redis/keyspace"
	"github.com/holdfast-go/holdfast/internal/redis/resp"
)

// fakeStream is a node that brings an observer what a test says.
type fakeStream struct {
	t     *testing.T
	conn  net.Conn
	asked chan []string // what the observer asks the node for
}

// following lets an observer of its own follow a stream.
func following(t *testing.T, truth *Truth, srv *servers.Server) *fakeStream {
	t.Helper()
	o, err := newObserver(truth, srv)
	check(t, err)
	ours, theirs := net.Pipe()
	o.conn, o.multi, o.waiting = theirs, map[string]bool{}, map[string]chan mark{}
	s := &fakeStream{t: t, conn: ours, asked: make(chan []string, 16)}
	done := make(chan struct{}, 2)
	go func() {
		o.listen(bufio.NewReader(theirs))
		done <- struct{}{}
	}()
	go func() {
		for in := bufio.NewReader(ours); ; {
			args, err := resp.ReadRequest(in)
			if err != nil {
				break
			}
			s.asked <- args
		}
		done <- struct{}{}
	}()
	t.Cleanup(func() {
		ours.Close()
		<-done
		<-done
	})
	check(t, ours.SetWriteDeadline(time.Now().Add(limit)))
	return s
}

func (s *fakeStream) write(format string, args ...any) {
	s.t.Helper()
	_, err := fmt.Fprintf(s.conn, format, args...)
	check(s.t, err)
}

// monitor brings a line of MONITOR.
func (s *fakeStream) monitor(from, command string) {
	s.t.Helper()
	now := time.Now()
	s.write("+%d.%06d [0 %s] %s\r\n", now.Unix(), now.Nanosecond()/1000, from, command)
}

// event brings one of the key "lock".
func (s *fakeStream) event(name string) {
	s.t.Helper()
	channel := keyEvents + name
	s.write(">4\r\n$8\r\npmessage\r\n$2\r\n__\r\n$%d\r\n%s\r\n$4\r\nlock\r\n", len(channel), channel)
}

// answer does what the observer has asked for, or asks for soon.
func (s *fakeStream) answer() {
	s.t.Helper()
	for {
		select {
		case args := <-s.asked:
			if len(args) != 2 || args[0] != "ECHO" {
				s.t.Fatalf("the node is asked for %q", args)
			}
			s.monitor("127.0.0.1:1", fmt.Sprintf("%q %q", args[0], args[1]))
			s.write("+%s\r\n", args[1])
		case <-time.After(6 * lull):
			return
		}
	}
}

// A harness that does not get its turn reads the rest of a script late. It is
// one change all the same: half of it may be a lock without a lease.
func TestScriptsAndTransactionsAreWholeHoweverLate(t *testing.T) {
	t.Parallel()
	s := start(t, servers.Options{Clients: 1, Groups: 1})
	for name, c := range map[string]struct {
		from  string
		begin string
		end   string // the report when it is over
	}{
		"script":      {fromScript, `"EVALSHA" "abc" "1" "lock"`, ""},
		"transaction": {"127.0.0.1:9", `"MULTI"`, `"EXEC"`},
	} {
		t.Run(name, func(t *testing.T) {
			changes := make(chan keyspace.Change, 16)
			truth, err := startTruth(s, func(k string) bool { return k == "lock" }, func(c keyspace.Change) { changes <- c })
			check(t, err)
			defer truth.Close()
			f := following(t, truth, s.Observable()[0])
			f.monitor("127.0.0.1:9", c.begin)
			time.Sleep(3 * lull)
			f.event("set")
			f.monitor(c.from, `"SET" "lock" "me"`)
			time.Sleep(3 * lull)
			f.event("pexpire")
			f.monitor(c.from, `"PEXPIRE" "lock" "10000"`)
			if c.end != "" {
				f.monitor("127.0.0.1:9", c.end)
			}
			f.answer()
			check(t, truth.Err())
			if n := len(changes); n != 1 {
				t.Fatalf("there are %d changes", n)
			}
			if c := <-changes; c.Before.Exists() || c.After.Str != "me" || c.After.ExpireAt.IsZero() {
				t.Errorf("the change is %+v", c)
			}
		})
	}
}
