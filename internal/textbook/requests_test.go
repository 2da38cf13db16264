package textbook_test

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	wire "github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/internal/textbook"
	"github.com/holdfast-go/holdfast/lock"
)

// arrived records the commands that reach the server, but for those that open a
// connection, and the scripts by their name.
type arrived struct {
	mu  sync.Mutex
	log []string
}

func (s server) record() *arrived {
	s.Helper()
	s.client(nil).Ping(s.Context()) // starts the server
	r := &arrived{}
	s.Server().SetPreHook(func(_ *wire.Peer, cmd string, args ...string) bool {
		if cmd = strings.ToLower(cmd); cmd == "hello" || cmd == "client" {
			return false
		}
		if strings.HasPrefix(cmd, "eval") {
			args = append([]string{"release"}, args[1:]...)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.log = append(r.log, strings.Join(append([]string{cmd}, args...), " "))
		return false
	})
	return r
}

// take returns the record, and begins a new one.
func (r *arrived) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	log := r.log
	r.log = nil
	return log
}

// The requests of each lock, from the first try to the release. A script comes before the
// commands that it runs.
func TestRequests(t *testing.T) {
	const set = "set stock client-1:1 nx px 9000"
	script := []string{"evalsha release 1 stock client-1:1", "get stock", "del stock"}
	for name, want := range map[string]struct{ acquire, release []string }{
		"setnx":        {[]string{"setnx stock client-1:1"}, []string{"del stock"}},
		"setnx-expire": {[]string{"setnx stock client-1:1", "pexpire stock 9000"}, []string{"del stock"}},
		"set-px":       {[]string{set}, []string{"del stock"}},
		"set-px-check": {[]string{set}, []string{"get stock", "del stock"}},
		"set-px-watch": {[]string{set}, []string{"watch stock", "get stock", "multi", "del stock", "exec"}},
		"set-px-lua":   {[]string{set}, script},
		"set-px-renew": {[]string{set}, script},
	} {
		onEach(t, func(r rung) bool { return r.name == name }, func(s server, r rung) {
			l := r.open(s, s.client(nil), a)
			s.take(l)
			s.release(l) // the server has the script from here on
			record := s.record()
			s.take(l)
			if got := record.take(); !slices.Equal(got, want.acquire) {
				s.Errorf("an acquire sent %q, want %q", got, want.acquire)
			}
			s.release(l)
			if got := record.take(); !slices.Equal(got, want.release) {
				s.Errorf("a release sent %q, want %q", got, want.release)
			}
		})
	}
}

// A server before Redis 6.0.9 carries out a transaction although the watched key has
// expired. The DEL finds nothing then, and the release says so.
func TestSetPXWatchOnAnOldServer(t *testing.T) {
	inBubble(t, func(s server) {
		l := textbook.NewSetPXWatch(s.client(before("exec", func() { time.Sleep(lease) })), name, a, textbook.Options{Lease: lease})
		s.take(l)
		s.Server().SetPreHook(func(p *wire.Peer, cmd string, _ ...string) bool {
			if cmd != "WATCH" {
				return false
			}
			p.WriteOK()
			return true
		})
		n, err := l.Unlock(s.Context())
		s.wantErr(err, lock.ErrNotHeld)
		if n != 0 {
			s.Errorf("%d holds remain, and the lock is not reentrant", n)
		}
	})
}

// pauses are the times between the tries of a lock that stays busy until the wait
// is over.
func (s server) pauses(r rung, name, owner string, o textbook.Options, wait time.Duration) []time.Duration {
	s.Helper()
	var tries []time.Time
	l := r.with(s, s.client(func(cmd redis.Cmder, next func() error) error {
		if cmd.Name() == r.acquire {
			tries = append(tries, time.Now())
		}
		return next()
	}), name, owner, o)
	start := time.Now()
	_, err := l.TryLock(s.Context(), lock.Wait(wait))
	s.wantErr(err, lock.ErrBusy)
	if first, last := tries[0].Sub(start), tries[len(tries)-1].Sub(start); first != 0 || last != wait {
		s.Errorf("the first try came after %v, and the last after %v, want 0s and %v", first, last, wait)
	}
	var all []time.Duration
	for i := range tries[1:] {
		all = append(all, tries[i+1].Sub(tries[i]))
	}
	return all
}

// A waiter tries at once, then after pauses between half of Poll and all of it,
// and a last time when its wait is over.
func TestPolls(t *testing.T) {
	onEach(t, nil, func(s server, r rung) {
		s.take(r.open(s, s.client(nil), b), lock.Lease(time.Hour))
		for set, poll := range map[time.Duration]time.Duration{
			0:                   100 * time.Millisecond, // the default
			time.Second:         time.Second,
			2 * time.Nanosecond: 2 * time.Nanosecond,
		} {
			all := s.pauses(r, name, a, textbook.Options{Poll: set}, 200*poll)
			all = all[:len(all)-1] // the wait cuts the last one off
			shortest, longest := slices.Min(all), slices.Max(all)
			if shortest < poll/2 || longest > poll {
				s.Errorf("a Poll of %v: pauses from %v to %v", set, shortest, longest)
			}
			if shortest*100 > poll*55 || longest*100 < poll*95 {
				s.Errorf("a Poll of %v: pauses from %v to %v only", set, shortest, longest)
			}
		}
	})
}

// Without a Rand, the name and the owner decide the pauses: a run can be repeated,
// and owners do not keep step.
func TestPollsOfAnOwner(t *testing.T) {
	onEach(t, nil, func(s server, r rung) {
		const other = "orders"
		for _, name := range []string{name, other} {
			_, err := r.with(s, s.client(nil), name, "holder", textbook.Options{}).TryLock(s.Context(), lock.Lease(time.Hour))
			must.Succeed(s, err)
		}
		pauses := func(name, owner string) []time.Duration {
			return s.pauses(r, name, owner, textbook.Options{}, time.Second)
		}
		first := pauses(name, a)
		if again := pauses(name, a); !slices.Equal(again, first) {
			s.Errorf("pauses %v, and again %v", first, again)
		}
		if slices.Equal(pauses(name, b), first) {
			s.Errorf("the pauses of two owners are %v", first)
		}
		if slices.Equal(pauses(other, a), first) {
			s.Errorf("the pauses for two locks are %v", first)
		}
	})
}
