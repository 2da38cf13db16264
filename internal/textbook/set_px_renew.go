package textbook

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/lock"
)

// Renewer is the scheduler of set-px-renew, one per process. Every Scan it
// goes through the holds of its process, and extends each that is in the last
// third of its lease. The first scan after a number of extensions interrupts
// the holder: it closes the hold's Lost channel, and lets the lease run out.
//
// Its mistakes:
//
//   - It looks only whether the key is there, not whose it is. When a hold is
//     lost and another owner took the lock before the next scan, the lost hold
//     stays on the list and goes on extending the other owner's lock, until
//     its own holder releases.
//   - Where the last third of the lease is shorter than Scan (a lease under
//     6 s), a scan can miss it, and the lock expires under its holder.
//   - An extension counts as done before its answer is there. When it fails,
//     the next try is two thirds of a lease later, when the lease is over.
//   - A holder whose lock is gone is dropped from the list without a notice.
//   - One request that hangs holds up the renewal of every other lock.
type Renewer struct {
	rdb  redis.UniversalClient
	opts Options

	ctx   context.Context // ends with Close
	close context.CancelFunc
	begin chan struct{} // closed with the first hold
	done  chan struct{}

	mu    sync.Mutex
	holds []*hold
}

// hold is one entry of the scheduler's list.
type hold struct {
	name     string
	lease    time.Duration
	modified time.Time // when it was taken or last extended
	extended int
	lost     chan struct{}
}

// NewRenewer makes a scheduler, which uses o.Scan and o.Extensions. It starts
// with the first hold, and Close ends it.
func NewRenewer(rdb redis.UniversalClient, o Options) *Renewer {
	r := &Renewer{rdb: rdb, opts: o.withDefaults("", ""), begin: make(chan struct{}), done: make(chan struct{})}
	r.ctx, r.close = context.WithCancel(context.Background())
	go r.run()
	return r
}

// Close ends the scheduler and waits for it. Holds are neither released nor
// extended any more.
func (r *Renewer) Close() error {
	r.close()
	<-r.done
	return nil
}

func (r *Renewer) run() {
	defer close(r.done)
	select {
	case <-r.begin:
	case <-r.ctx.Done():
		return
	}
	ticker := time.NewTicker(r.opts.Scan)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			r.scan()
		case <-r.ctx.Done():
			return
		}
	}
}

// scan goes through the list once. An error leaves its hold for the next scan.
func (r *Renewer) scan() {
	r.mu.Lock()
	holds := append([]*hold(nil), r.holds...)
	r.mu.Unlock()
	for _, h := range holds {
		if r.ctx.Err() != nil {
			return
		}
		if err := r.rdb.Get(r.ctx, h.name).Err(); errors.Is(err, redis.Nil) {
			r.drop(h)
			continue
		} else if err != nil {
			continue
		}
		if h.extended >= r.opts.Extensions {
			close(h.lost)
			r.drop(h)
			continue
		}
		if now := time.Now(); now.Sub(h.modified) >= h.lease*2/3 {
			h.modified = now
			if err := r.rdb.PExpire(r.ctx, h.name, h.lease).Err(); err == nil {
				h.extended++
			}
		}
	}
}

func (r *Renewer) add(h *hold) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.holds = append(r.holds, h)
	select {
	case <-r.begin:
	default:
		close(r.begin)
	}
}

func (r *Renewer) drop(h *hold) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, x := range r.holds {
		if x == h {
			r.holds = append(r.holds[:i:i], r.holds[i+1:]...)
			return
		}
	}
}

// setPXRenew implements [lock.Locker].
type setPXRenew struct {
	Spin
	renewer *Renewer

	held sync.Mutex
	hold *hold // nil while nothing is held
}

var _ lock.LostNotifier = (*setPXRenew)(nil)

// NewLock is set-px-lua with leases that the scheduler extends, unless the
// acquire asks for a lease. It uses o.Lease, o.Poll and o.Rand. See [Renewer]
// for what is wrong with it.
func (r *Renewer) NewLock(name, owner string, o Options) lock.Locker {
	l := &setPXRenew{Spin: NewSpin(r.rdb, name, owner, o), renewer: r}
	l.Take = l.setNX
	return l
}

func (l *setPXRenew) Lock(ctx context.Context, opts ...lock.AcquireOption) (lock.Grant, error) {
	g, err := l.Spin.Lock(ctx, opts...)
	return l.granted(g, err, opts)
}

func (l *setPXRenew) TryLock(ctx context.Context, opts ...lock.AcquireOption) (lock.Grant, error) {
	g, err := l.Spin.TryLock(ctx, opts...)
	return l.granted(g, err, opts)
}

// granted puts a new hold on the scheduler's list. Its lease counts from now,
// after the reply, and not from the request, as on the server.
func (l *setPXRenew) granted(g lock.Grant, err error, opts []lock.AcquireOption) (lock.Grant, error) {
	if err != nil {
		return g, err
	}
	h := &hold{name: l.name, lease: g.Lease, modified: time.Now(), lost: make(chan struct{})}
	if lock.NewAcquire(opts).Lease == 0 {
		g.Renewed = true
		l.renewer.add(h)
	}
	l.held.Lock()
	defer l.held.Unlock()
	l.hold = h
	return g, nil
}

// Unlock deletes the key if the owner holds the lock, and takes the hold off the
// scheduler's list. As textbook code does, it gives up when ctx is cancelled; the
// scheduler then goes on extending an unused lock.
func (l *setPXRenew) Unlock(ctx context.Context) (int, error) {
	err := l.compareAndDelete(ctx)
	if err == nil || errors.Is(err, lock.ErrNotHeld) {
		l.held.Lock()
		if l.hold != nil {
			l.renewer.drop(l.hold)
			l.hold = nil
		}
		l.held.Unlock()
	}
	return 0, err
}

// Lost is closed when the scheduler gives the hold up. It is not closed when
// the lock is gone for another reason.
func (l *setPXRenew) Lost() <-chan struct{} {
	l.held.Lock()
	defer l.held.Unlock()
	if l.hold == nil {
		return nil
	}
	return l.hold.lost
}
