package textbook_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/internal/textbook"
	"github.com/holdfast-go/holdfast/lock"
)

const (
	name  = "stock"
	lease = 9 * time.Second
	a, b  = "client-1:1", "client-2:1"
)

// server is a miniredis whose leases follow the bubble's clock.
type server struct {
	*testing.T
	*miniredis.Miniredis
}

// inBubble runs f with a server and virtual time. Nothing may be left running.
func inBubble(t *testing.T, f func(s server)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		m := miniredis.NewMiniRedis()
		m.ClockTTL(true)
		t.Cleanup(m.Close)
		f(server{t, m})
	})
}

// client returns a client of the server. Around each command of it stands
// around, if not nil, which calls next to send it.
func (s server) client(around func(cmd redis.Cmder, next func() error) error) *redis.Client {
	rdb := redis.NewClient(&redis.Options{
		Addr:                     "10.0.0.1:6379",
		Dialer:                   func(context.Context, string, string) (net.Conn, error) { return s.Dial() },
		MaxRetries:               -1,
		PoolSize:                 100,
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	if around != nil {
		rdb.AddHook(hook(around))
	}
	s.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

type hook func(cmd redis.Cmder, next func() error) error

func (hook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h hook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := h(cmd, func() error { return next(ctx, cmd) })
		cmd.SetErr(err)
		return err
	}
}

func (h hook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		return h(cmds[len(cmds)-1], func() error { return next(ctx, cmds) })
	}
}

// before calls f once, before the first command of that name is sent.
func before(command string, f func()) func(redis.Cmder, func() error) error {
	return func(cmd redis.Cmder, next func() error) error {
		if f != nil && cmd.Name() == command {
			run := f
			f = nil
			run()
		}
		return next()
	}
}

// loseReply carries out every command of that name and loses the reply.
func loseReply(command string) func(redis.Cmder, func() error) error {
	return func(cmd redis.Cmder, next func() error) error {
		err := next()
		if cmd.Name() == command {
			return io.ErrUnexpectedEOF
		}
		return err
	}
}

// loseRequest never sends a command of that name.
func loseRequest(command string) func(redis.Cmder, func() error) error {
	return func(cmd redis.Cmder, next func() error) error {
		if cmd.Name() == command {
			return io.ErrUnexpectedEOF
		}
		return next()
	}
}

// holder is who the server says holds the lock.
func (s server) holder() string {
	v, err := s.Get(name)
	if err != nil {
		return ""
	}
	return v
}

func (s server) wantHolder(want string) {
	s.Helper()
	if got := s.holder(); got != want {
		s.Errorf("the lock is held by %q, want %q", got, want)
	}
}

func (s server) take(l lock.Locker, opts ...lock.AcquireOption) lock.Grant {
	s.Helper()
	g, err := l.TryLock(s.Context(), opts...)
	if err != nil {
		s.Fatalf("acquire: %v", err)
	}
	return g
}

func (s server) release(l lock.Locker) {
	s.Helper()
	if n, err := l.Unlock(s.Context()); n != 0 || err != nil {
		s.Fatalf("release: %d, %v", n, err)
	}
}

func (s server) wantErr(err, want error) {
	s.Helper()
	if !errors.Is(err, want) {
		s.Errorf("error %v, want %v", err, want)
	}
}

// rung is one of the locks.
type rung struct {
	name    string
	leased  bool
	checks  bool // the release looks at the owner
	looks   bool // and does that in a request of its own
	acquire string
	release string
	make    func(rdb redis.UniversalClient, name, owner string, o textbook.Options) lock.Locker
}

var rungs = []rung{
	{"setnx", false, false, false, "setnx", "del", textbook.NewSetNX},
	{"setnx-expire", true, false, false, "setnx", "del", textbook.NewSetNXExpire},
	{"set-px", true, false, false, "set", "del", textbook.NewSetPX},
	{"set-px-check", true, true, true, "set", "del", textbook.NewSetPXCheck},
	{"set-px-watch", true, true, true, "set", "exec", textbook.NewSetPXWatch},
	{"set-px-lua", true, true, false, "set", "eval", textbook.NewSetPXLua},
	{"set-px-renew", true, true, false, "set", "eval", nil},
}

func (r rung) open(s server, rdb redis.UniversalClient, owner string) lock.Locker {
	return r.with(s, rdb, name, owner, textbook.Options{Lease: lease, Rand: rand.New(rand.NewPCG(1, uint64(len(owner))))})
}

// with is open with options.
func (r rung) with(s server, rdb redis.UniversalClient, name, owner string, o textbook.Options) lock.Locker {
	if r.make != nil {
		return r.make(rdb, name, owner, o)
	}
	renewer := textbook.NewRenewer(rdb, o)
	s.Cleanup(func() { _ = renewer.Close() })
	return renewer.NewLock(name, owner, o)
}

// onEach runs f for every rung that is wanted.
func onEach(t *testing.T, wanted func(rung) bool, f func(s server, r rung)) {
	for _, r := range rungs {
		if wanted == nil || wanted(r) {
			t.Run(r.name, func(t *testing.T) { inBubble(t, func(s server) { f(s, r) }) })
		}
	}
}

func TestTakeAndRelease(t *testing.T) {
	onEach(t, nil, func(s server, r rung) {
		first, second := r.open(s, s.client(nil), a), r.open(s, s.client(nil), b)
		g := s.take(first)
		want := lock.Grant{Count: 1, Lease: lease, Renewed: r.name == "set-px-renew"}
		ttl := lease
		if !r.leased {
			want.Lease, ttl = 0, 0
		}
		if g != want || s.TTL(name) != ttl {
			s.Errorf("grant %+v with TTL %v, want %+v", g, s.TTL(name), want)
		}
		s.wantHolder(a)

		for _, l := range []lock.Locker{first, second} { // not reentrant
			_, err := l.TryLock(s.Context())
			s.wantErr(err, lock.ErrBusy)
		}
		start := time.Now()
		_, err := second.TryLock(s.Context(), lock.Wait(450*time.Millisecond))
		s.wantErr(err, lock.ErrBusy)
		if waited := time.Since(start); waited != 450*time.Millisecond {
			s.Errorf("waited %v", waited)
		}

		granted := make(chan error)
		go func() {
			_, err := second.Lock(s.Context())
			granted <- err
		}()
		time.Sleep(time.Second)
		s.release(first)
		must.Succeed(s, <-granted)
		s.wantHolder(b)
		s.release(second)
		s.wantHolder("")
	})
}

func TestLeaseAskedFor(t *testing.T) {
	onEach(t, func(r rung) bool { return r.leased }, func(s server, r rung) {
		l := r.open(s, s.client(nil), a)
		g, err := l.TryLock(s.Context(), lock.Lease(700*time.Millisecond))
		if err != nil || g.Lease != 700*time.Millisecond || g.Renewed {
			s.Errorf("%+v, %v", g, err)
		}
		time.Sleep(700 * time.Millisecond)
		s.wantHolder("")
		g, err = l.TryLock(s.Context(), lock.Lease(time.Millisecond)) // the shortest that Redis counts
		if err != nil || g.Lease != time.Millisecond {
			s.Errorf("%+v, %v", g, err)
		}
		time.Sleep(time.Millisecond)
		record := s.record()
		for _, short := range []time.Duration{time.Millisecond - 1, time.Microsecond, -time.Second} {
			_, err = l.TryLock(s.Context(), lock.Lease(short))
			if err == nil || errors.Is(err, lock.ErrUnknown) {
				s.Errorf("a lease of %v: %v", short, err)
			}
		}
		if sent := record.take(); len(sent) > 0 {
			s.Errorf("for leases that are too short it sent %q", sent)
		}
	})
}

func TestDefaultLease(t *testing.T) {
	onEach(t, func(r rung) bool { return r.leased }, func(s server, r rung) {
		g := s.take(r.with(s, s.client(nil), name, a, textbook.Options{}))
		if g.Lease != 10*time.Second || s.TTL(name) != 10*time.Second {
			s.Errorf("a lease of %v, and %v on the server, want 10s", g.Lease, s.TTL(name))
		}
	})
}

func TestReleaseOfNothing(t *testing.T) {
	onEach(t, nil, func(s server, r rung) {
		l := r.open(s, s.client(nil), a)
		var want error
		if r.checks {
			want = lock.ErrNotHeld
		}
		n, err := l.Unlock(s.Context()) // no owner holds it
		if n != 0 || !errors.Is(err, want) {
			s.Errorf("release of a free lock: %d, %v", n, err)
		}
		s.take(r.open(s, s.client(nil), b))
		if n, err = l.Unlock(s.Context()); n != 0 || !errors.Is(err, want) {
			s.Errorf("release of another owner's lock: %d, %v", n, err)
		}
		// The mistake of a plain DEL: any owner releases.
		if r.checks {
			s.wantHolder(b)
		} else {
			s.wantHolder("")
		}
	})
}

func TestContextEnds(t *testing.T) {
	onEach(t, nil, func(s server, r rung) {
		s.take(r.open(s, s.client(nil), b))
		l := r.open(s, s.client(nil), a)
		ctx, cancel := context.WithTimeout(s.Context(), 123*time.Millisecond)
		defer cancel()
		_, err := l.Lock(ctx)
		s.wantErr(err, context.DeadlineExceeded)
		if errors.Is(err, lock.ErrUnknown) {
			s.Error("nothing was under way")
		}
	})
}

// Textbook code acquires and releases with the caller's context. When that has
// ended before, nothing is sent, so the outcome is known.
func TestCancelledBefore(t *testing.T) {
	onEach(t, nil, func(s server, r rung) {
		l := r.open(s, s.client(nil), a)
		ctx, cancel := context.WithCancel(s.Context())
		cancel()
		wantCancelled := func(err error) {
			s.Helper()
			s.wantErr(err, context.Canceled)
			if errors.Is(err, lock.ErrUnknown) {
				s.Error("nothing was under way")
			}
		}
		_, err := l.TryLock(ctx)
		wantCancelled(err)
		_, err = l.Lock(ctx)
		wantCancelled(err)
		s.wantHolder("")
		s.take(l)
		n, err := l.Unlock(ctx)
		wantCancelled(err)
		if n != 0 {
			s.Errorf("%d holds remain, and the lock is not reentrant", n)
		}
		s.wantHolder(a)
	})
}

// A lost reply leaves a lock that even its owner finds busy.
func TestLostReplies(t *testing.T) {
	onEach(t, nil, func(s server, r rung) {
		l := r.open(s, s.client(loseReply(r.acquire)), a)
		_, err := l.TryLock(s.Context())
		s.wantErr(err, lock.ErrUnknown)
		s.wantErr(err, io.ErrUnexpectedEOF)
		s.wantHolder(a)
		_, err = r.open(s, s.client(nil), a).TryLock(s.Context())
		s.wantErr(err, lock.ErrBusy)
		s.FlushAll()

		l = r.open(s, s.client(loseReply(r.release)), a)
		s.take(l)
		n, err := l.Unlock(s.Context())
		s.wantErr(err, lock.ErrUnknown)
		if n != 0 {
			s.Errorf("%d holds remain, and the lock is not reentrant", n)
		}
		s.wantHolder("")
	})
}

// A request of the release that never arrives, and a look that is not answered,
// leave the lock as it is.
func TestReleaseCutOff(t *testing.T) {
	onEach(t, nil, func(s server, r rung) {
		cuts := map[string]func(redis.Cmder, func() error) error{"the request is lost": loseRequest(r.release)}
		if r.looks {
			cuts["the look is not answered"] = loseReply("get")
		}
		for what, around := range cuts {
			l := r.open(s, s.client(around), a)
			s.take(l)
			n, err := l.Unlock(s.Context())
			s.wantErr(err, lock.ErrUnknown)
			s.wantErr(err, io.ErrUnexpectedEOF)
			if n != 0 {
				s.Errorf("%s: %d holds remain, and the lock is not reentrant", what, n)
			}
			s.wantHolder(a)
			s.FlushAll()
		}
	})
}

// The caller's context ends while a request is open, and the connection breaks:
// the error says both.
func TestContextEndsDuringARequest(t *testing.T) {
	onEach(t, nil, func(s server, r rung) {
		for _, command := range []string{r.acquire, r.release} {
			ctx, cancel := context.WithCancel(s.Context())
			l := r.open(s, s.client(func(cmd redis.Cmder, next func() error) error {
				err := next()
				if cmd.Name() == command {
					cancel()
					return io.ErrUnexpectedEOF
				}
				return err
			}), a)
			_, err := l.TryLock(ctx)
			if command == r.release {
				must.Succeed(s, err)
				_, err = l.Unlock(ctx)
			}
			for _, want := range []error{context.Canceled, lock.ErrUnknown, io.ErrUnexpectedEOF} {
				s.wantErr(err, want)
			}
			s.FlushAll()
		}
	})
}

// The lease ends between the look and the DEL, and no other owner takes the lock. A
// release that looks says so, and a plain DEL does not.
func TestLeaseEndsDuringTheRelease(t *testing.T) {
	onEach(t, func(r rung) bool { return r.leased }, func(s server, r rung) {
		l := r.open(s, s.client(before(r.release, func() { time.Sleep(lease) })), a)
		s.take(l, lock.Lease(lease))
		var want error
		if r.checks {
			want = lock.ErrNotHeld
		}
		if n, err := l.Unlock(s.Context()); n != 0 || !errors.Is(err, want) {
			s.Errorf("%d, %v, want %v", n, err, want)
		}
	})
}

// The mistake of setnx: a crashed holder keeps the lock for ever.
func TestSetNXNeverExpires(t *testing.T) {
	inBubble(t, func(s server) {
		s.take(textbook.NewSetNX(s.client(nil), name, a, textbook.Options{}))
		time.Sleep(10 * 365 * 24 * time.Hour)
		_, err := textbook.NewSetNX(s.client(nil), name, b, textbook.Options{}).TryLock(s.Context())
		s.wantErr(err, lock.ErrBusy)
	})
}

// The mistake of setnx-expire: a crash between the commands has the same end, and so has
// a context that ends there.
func TestSetNXExpireCutBetweenCommands(t *testing.T) {
	inBubble(t, func(s server) {
		ctx, cancel := context.WithCancel(s.Context())
		defer cancel()
		for _, cut := range []struct {
			around func(redis.Cmder, func() error) error
			want   error
		}{
			{loseRequest("pexpire"), io.ErrUnexpectedEOF},
			{before("pexpire", cancel), context.Canceled},
		} {
			l := textbook.NewSetNXExpire(s.client(cut.around), name, a, textbook.Options{})
			_, err := l.TryLock(ctx)
			s.wantErr(err, lock.ErrUnknown)
			s.wantErr(err, cut.want)
			time.Sleep(24 * time.Hour)
			s.wantHolder(a)
			s.FlushAll()
		}
	})
}

// The mistake of set-px: one slow holder starts a chain of wrong releases.
func TestSetPXDeletesTheNextLock(t *testing.T) {
	inBubble(t, func(s server) {
		make := func(owner string) lock.Locker {
			return textbook.NewSetPX(s.client(nil), name, owner, textbook.Options{Lease: time.Second})
		}
		first, second, third := make(a), make(b), make("client-3:1")
		s.take(first)
		time.Sleep(time.Second)
		s.take(second)
		s.release(first) // not its own any more
		s.take(third)    // while the second still holds it
		s.release(second)
		s.wantHolder("")
	})
}

// The mistake of set-px-check: the lock changes hands between look and DEL.
func TestSetPXCheckRace(t *testing.T) {
	inBubble(t, func(s server) {
		second := textbook.NewSetPXCheck(s.client(nil), name, b, textbook.Options{})
		first := textbook.NewSetPXCheck(s.client(before("del", func() {
			time.Sleep(lease)
			s.take(second)
		})), name, a, textbook.Options{Lease: lease})
		s.take(first)
		s.release(first)
		s.wantHolder("") // the second's lock
	})
}

// The same moment does no harm to the transaction and to the script.
func TestWatchAndScriptAreSafeAtThatMoment(t *testing.T) {
	for _, r := range rungs[4:6] {
		t.Run(r.name, func(t *testing.T) {
			inBubble(t, func(s server) {
				second := r.open(s, s.client(nil), b)
				first := r.open(s, s.client(before(r.release, func() {
					time.Sleep(lease)
					s.take(second)
				})), a)
				s.take(first)
				_, err := first.Unlock(s.Context())
				s.wantErr(err, lock.ErrNotHeld)
				s.wantHolder(b)
			})
		})
	}
}

// The mistake of set-px-watch: the cost of a release.
func TestSetPXWatchRoundTrips(t *testing.T) {
	inBubble(t, func(s server) {
		var sent []string
		l := textbook.NewSetPXWatch(s.client(func(cmd redis.Cmder, next func() error) error {
			sent = append(sent, cmd.Name())
			return next()
		}), name, a, textbook.Options{})
		s.take(l)
		sent = nil
		s.release(l)
		if got, want := fmt.Sprint(sent), "[watch get exec]"; got != want {
			s.Errorf("sent %s, want %s", got, want)
		}
	})
}

// The mistake of set-px-lua: a long piece of work outlives its lease without a notice.
func TestSetPXLuaLeaseOutlived(t *testing.T) {
	inBubble(t, func(s server) {
		first, second := rungs[5].open(s, s.client(nil), a), rungs[5].open(s, s.client(nil), b)
		s.take(first)
		time.Sleep(lease)
		s.take(second) // while the first still works
		if _, ok := first.(lock.LostNotifier); ok {
			s.Error("set-px-lua tells its holder")
		}
		_, err := first.Unlock(s.Context())
		s.wantErr(err, lock.ErrNotHeld)
		s.wantHolder(b)
	})
}
