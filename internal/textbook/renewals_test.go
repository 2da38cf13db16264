package textbook_test

import (
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/textbook"
	"github.com/holdfast-go/holdfast/lock"
)

// moments records when commands of one name are given to the Redis client.
type moments struct {
	start   time.Time
	command string

	mu sync.Mutex
	at []time.Duration
}

func since(command string) *moments { return &moments{start: time.Now(), command: command} }

func (m *moments) around(cmd redis.Cmder, next func() error) error {
	if cmd.Name() == m.command {
		m.mu.Lock()
		m.at = append(m.at, time.Since(m.start))
		m.mu.Unlock()
	}
	return next()
}

func (s server) wantMoments(m *moments, want string) {
	s.Helper()
	synctest.Wait()
	m.mu.Lock()
	defer m.mu.Unlock()
	if got := fmt.Sprint(m.at); got != want {
		s.Errorf("%s at %s, want %s", m.command, got, want)
	}
}

// There is something to lose only while the lock is held.
func TestRenewLostBelongsToTheHold(t *testing.T) {
	inBubble(t, func(s server) {
		l, _ := s.renewing(a, textbook.Options{Lease: lease}, nil)
		for _, opts := range [][]lock.AcquireOption{nil, {lock.Lease(lease)}} {
			s.take(l, opts...)
			if l.(lock.LostNotifier).Lost() == nil || lost(l) {
				s.Error("no channel, or a closed one, while the lock is held")
			}
			s.release(l)
			if l.(lock.LostNotifier).Lost() != nil {
				s.Error("a channel after the release")
			}
		}
	})
}

// The scheduler leaves a hold alone whose lease the acquire asked for.
func TestRenewNotWithALeaseAskedFor(t *testing.T) {
	inBubble(t, func(s server) {
		looks := since("get")
		l, _ := s.renewing(a, textbook.Options{}, looks.around)
		if g := s.take(l, lock.Lease(lease)); g.Renewed {
			s.Error("it says that it is renewed")
		}
		time.Sleep(lease)
		s.wantHolder("")
		s.wantMoments(looks, "[]")
	})
}

// A hold that was interrupted is not extended any more.
func TestRenewNotAfterTheInterrupt(t *testing.T) {
	inBubble(t, func(s server) {
		extended := since("pexpire")
		l, _ := s.renewing(a, textbook.Options{Lease: lease, Scan: 6 * time.Second, Extensions: 1}, extended.around)
		s.take(l)
		time.Sleep(12*time.Second - 1)
		if lost(l) {
			s.Error("interrupted before the scan after the extension")
		}
		time.Sleep(2 * time.Nanosecond)
		if !lost(l) {
			s.Error("not interrupted at the scan after the extension")
		}
		time.Sleep(time.Minute)
		s.wantMoments(extended, "[6s]")
		s.wantHolder("")
	})
}

// A look that fails leaves its hold for the next scan: it neither extends nor
// interrupts.
func TestRenewLeavesAFailedLookForTheNextScan(t *testing.T) {
	inBubble(t, func(s server) {
		extended, looks := since("pexpire"), since("get")
		l, _ := s.renewing(a, textbook.Options{Lease: lease, Extensions: 1}, func(cmd redis.Cmder, next func() error) error {
			return looks.around(cmd, func() error {
				err := extended.around(cmd, next)
				if n := len(looks.at); cmd.Name() == "get" && (n == 3 || n == 5) { // at 6s and 10s
					return io.ErrUnexpectedEOF
				}
				return err
			})
		})
		s.take(l)
		time.Sleep(11 * time.Second)
		s.wantMoments(extended, "[8s]")
		if lost(l) {
			s.Error("interrupted after a look that failed")
		}
		time.Sleep(2 * time.Second)
		if !lost(l) {
			s.Error("not interrupted at the next scan")
		}
		s.wantMoments(looks, "[2s 4s 6s 8s 10s 12s]")
	})
}

// The mistake of set-px-renew: the scheduler drops a hold whose lock is gone, and does
// not notify its holder.
func TestRenewDropsALockThatIsGone(t *testing.T) {
	inBubble(t, func(s server) {
		looks, extended := since("get"), since("pexpire")
		l, _ := s.renewing(a, textbook.Options{Lease: lease, Extensions: 1}, func(cmd redis.Cmder, next func() error) error {
			return looks.around(cmd, func() error { return extended.around(cmd, next) })
		})
		s.take(l)
		time.Sleep(7 * time.Second) // extended as often as it may be
		s.Del(name)
		time.Sleep(time.Minute)
		s.wantMoments(looks, "[2s 4s 6s 8s]")
		s.wantMoments(extended, "[6s]")
		if lost(l) {
			s.Error("the holder was told")
		}
		_, err := l.Unlock(s.Context())
		s.wantErr(err, lock.ErrNotHeld)
	})
}

// Close waits for the request that is under way, and none follows: neither for the other
// holds of that scan, nor at a later one. No holder is notified.
func TestRenewCloseEndsRenewals(t *testing.T) {
	inBubble(t, func(s server) {
		looks := since("get")
		first, r := s.renewing(a, textbook.Options{Lease: lease}, func(cmd redis.Cmder, next func() error) error {
			return looks.around(cmd, func() error {
				if cmd.Name() == "get" {
					time.Sleep(time.Second)
				}
				return next()
			})
		})
		second := r.NewLock("orders", a, textbook.Options{Lease: lease})
		s.take(first)
		s.take(second)
		time.Sleep(2*time.Second + 500*time.Millisecond)
		_ = r.Close()
		if d := time.Since(looks.start); d != 3*time.Second {
			s.Errorf("Close returned after %v, and the request ends after 3s", d)
		}
		time.Sleep(lease)
		s.wantMoments(looks, "[2s]")
		s.wantHolder("")
		if lost(first) || lost(second) {
			s.Error("a holder was told")
		}
	})
}

// Close of a scheduler that never had a hold returns at once.
func TestRenewCloseWithoutAHold(t *testing.T) {
	inBubble(t, func(s server) {
		start := time.Now()
		_ = textbook.NewRenewer(s.client(nil), textbook.Options{}).Close()
		if d := time.Since(start); d != 0 {
			s.Errorf("it took %v", d)
		}
	})
}

// renewing returns a lock of a renewer of its own.
func (s server) renewing(owner string, o textbook.Options, around func(redis.Cmder, func() error) error) (lock.Locker, *textbook.Renewer) {
	rdb := s.client(around)
	r := textbook.NewRenewer(rdb, o)
	s.Cleanup(func() { _ = r.Close() })
	return r.NewLock(name, owner, o), r
}

func lost(l lock.Locker) bool {
	select {
	case <-l.(lock.LostNotifier).Lost():
		return true
	default:
		return false
	}
}

// The scheduler extends in the last third, three times, and then interrupts.
func TestRenewExtendsThenInterrupts(t *testing.T) {
	inBubble(t, func(s server) {
		var extended []time.Duration
		start := time.Now()
		l, _ := s.renewing(a, textbook.Options{Lease: lease}, func(cmd redis.Cmder, next func() error) error {
			if cmd.Name() == "pexpire" {
				extended = append(extended, time.Since(start))
			}
			return next()
		})
		if l.(lock.LostNotifier).Lost() != nil {
			s.Error("a channel while nothing is held")
		}
		s.take(l)
		time.Sleep(19 * time.Second)
		if lost(l) {
			s.Error("interrupted before the scan after the last extension")
		}
		time.Sleep(time.Second + time.Millisecond)
		if !lost(l) {
			s.Error("not interrupted at the scan after the last extension")
		}
		s.wantHolder(a) // to the end of its lease
		time.Sleep(7 * time.Second)
		s.wantHolder("")
		synctest.Wait()
		if got, want := fmt.Sprint(extended), "[6s 12s 18s]"; got != want {
			s.Errorf("extended at %s, want %s", got, want)
		}
	})
}

// The mistake of set-px-renew: a lease under 6 s falls between two scans.
func TestRenewMissesAShortLease(t *testing.T) {
	inBubble(t, func(s server) {
		l, _ := s.renewing(a, textbook.Options{Lease: 3500 * time.Millisecond}, nil)
		s.take(l) // the scan at 2s comes before the last third, and the next one after the end
		time.Sleep(3600 * time.Millisecond)
		s.wantHolder("")
		time.Sleep(10 * time.Second)
		if lost(l) {
			s.Error("the holder was told")
		}
	})
}

// The mistake of set-px-renew: it extends the lock of any holder.
func TestRenewExtendsAnotherOwnersLock(t *testing.T) {
	inBubble(t, func(s server) {
		first, _ := s.renewing(a, textbook.Options{Lease: lease}, nil)
		second := textbook.NewSetPXLua(s.client(nil), name, b, textbook.Options{Lease: lease})
		s.take(first)
		s.client(nil).Del(context.Background(), name) // lost, as by an eviction
		s.take(second)                                // before a scan has found no key
		time.Sleep(lease + time.Second)
		s.wantHolder(b) // which asked for 9 s and never renewed
	})
}

// The mistake of set-px-renew: it does not repeat a failed extension.
func TestRenewDoesNotRetry(t *testing.T) {
	inBubble(t, func(s server) {
		failed := false
		l, _ := s.renewing(a, textbook.Options{Lease: lease}, func(cmd redis.Cmder, next func() error) error {
			if cmd.Name() == "pexpire" && !failed {
				failed = true
				return io.ErrUnexpectedEOF
			}
			return next()
		})
		s.take(l)
		time.Sleep(lease)
		s.wantHolder("")
		if lost(l) {
			s.Error("the holder was told")
		}
	})
}

// A hold that was released, and not taken by anybody, is dropped from the list.
func TestRenewStopsAfterRelease(t *testing.T) {
	inBubble(t, func(s server) {
		var sent atomic.Int64
		l, r := s.renewing(a, textbook.Options{Lease: lease}, func(_ redis.Cmder, next func() error) error {
			sent.Add(1)
			return next()
		})
		s.take(l)
		s.release(l)
		time.Sleep(2*time.Second + time.Millisecond)
		before := sent.Load()
		time.Sleep(time.Minute)
		if n := sent.Load() - before; n != 0 {
			s.Errorf("%d more requests after the release", n)
		}
		_ = r.Close()
		_ = r.Close()
	})
}
