package textbook

import (
	"context"
	_ "embed"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/redis/keyspace"
	"github.com/holdfast-go/holdfast/lock"
)

var (
	//go:embed semaphore_zset_enter.lua
	zsetEnterSource string
	//go:embed semaphore_zset_leave.lua
	zsetLeaveSource string

	zsetEnter, zsetLeave = redis.NewScript(zsetEnterSource), redis.NewScript(zsetLeaveSource)
)

type semaphoreZSet struct {
	room
	byClient bool // the time is that of the client
}

// NewSemaphoreZSet keeps its permits in a sorted set: a member for each, with the end of
// its lease as the score. A script cleans the set and adds the members of an acquire, all
// or none, by the clock of the server. The book Redis in Action has such a semaphore in
// section 6.3, at first with the clocks of the clients, which disagree.
//
// It is the right one of the semaphores, and no better than set-px-lua. A holder that
// works longer than its lease gets no notice, and nothing renews the lease.
func NewSemaphoreZSet(rdb redis.UniversalClient, name, owner string, o Options) lock.Locker {
	l := &semaphoreZSet{room: room{Spin: NewSpin(rdb, name, owner, o)}}
	l.Take = func(ctx context.Context, lease time.Duration) (bool, error) {
		return l.enter(ctx, zsetEnter, wholeMillis(lease), l.opts.Permits, l.opts.Takes)
	}
	return l
}

// NewSemaphoreClock is [NewSemaphoreZSet] with the time of the client instead of the
// server. So are redis-semaphore for Node.js, and Redisson's permits that expire.
//
// Its mistake: a client whose clock is ahead cleans permits away that are in use. The
// permit of one whose clock is behind has expired from its start.
func NewSemaphoreClock(rdb redis.UniversalClient, name, owner string, o Options) lock.Locker {
	l := &semaphoreZSet{room: room{Spin: NewSpin(rdb, name, owner, o)}, byClient: true}
	l.Take = func(ctx context.Context, lease time.Duration) (bool, error) {
		asked := l.opts.Now()
		ok, err := l.enter(ctx, zsetEnter, (lease + ClockGrace).Milliseconds(), l.opts.Permits, l.opts.Takes, inMillis(asked))
		return ok && l.opts.Now().Sub(asked) < lease, err // a late request gets a permit that has expired
	}
	return l
}

// ClockGrace is the time by which a permit of [NewSemaphoreClock] outlasts its lease. It is
// for the way of the request, as the lease begins with the call.
const ClockGrace = 10 * time.Millisecond

// inMillis is a time to the microsecond, as of a server.
func inMillis(t time.Time) float64 { return float64(t.UnixMicro()) / 1000 }

// Unlock returns ErrNotHeld when the lease of its permits is over.
func (l *semaphoreZSet) Unlock(ctx context.Context) (int, error) {
	args := []any{l.opts.Takes}
	if l.byClient {
		args = append(args, inMillis(l.opts.Now()))
	}
	return 0, l.leave(ctx, zsetLeave, args...)
}

// PermitsOfZSet reads the permits of a [NewSemaphoreZSet] on a server.
func PermitsOfZSet(v keyspace.View) (holds []keyspace.Hold) {
	for _, member := range v.Items(v.Name) {
		holds = append(holds, keyspace.Hold{Owner: ownerOf(member), End: time.UnixMicro(int64(1000 * v.Score(v.Name, member)))})
	}
	return holds
}
