package lock

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// retryPause and retryPauseMax bound the pause between two tries of a request. The
	// pause doubles.
	retryPause    = 50 * time.Millisecond
	retryPauseMax = time.Second
	// unsentTries is the number of tries after which an acquire gives up that has reached
	// no server.
	unsentTries = 3
)

var (
	// notNow are the errors of servers that will answer by themselves before long. They
	// end no wait.
	notNow = []string{"LOADING", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN"}
	// notHere are those of servers beside which another may answer.
	notHere = []string{"READONLY", "MOVED", "ASK"}
)

// says reports whether a server answered with one of these errors.
func says(err error, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(prefix string) bool { return redis.HasErrorPrefix(err, prefix) })
}

// isNotNow reports whether an error ends no wait. In a cluster that is so where another server
// may answer, too: the Redis client follows only a few redirections, and goes on from there.
func (c *Client) isNotNow(err error) bool {
	_, cluster := c.rdb.(*redis.ClusterClient)
	return says(err, notNow) || cluster && says(err, notHere)
}

// isTransient reports whether another try of a request may succeed.
func isTransient(err error) bool {
	var refusal redis.Error
	if errors.As(err, &refusal) {
		return says(err, notNow) || says(err, notHere)
	}
	return !errors.Is(err, redis.ErrClosed) && !errors.Is(err, errNonsense)
}

// isBroken reports whether an established connection turned out to be broken.
func isBroken(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// errNonsense: something on the way does not speak the protocol of the lock.
var errNonsense = errors.New("lock: no answer of a lock's script")

// errOverruled ends the tries of a request that the owner's later requests, or the end of its
// hold, have made void.
var errOverruled = errors.New("lock: the request is void by now")

// forever is no time.
var forever = time.Unix(1<<40, 0)

// persist sends a request until a server answers it, ctx ends, or the time until has come.
// isEnough may end it earlier, after a number of tries and by the last error. It is nil for
// a give-back, which goes on after every error of a server, and when the client is closed;
// any other request ends then. One dead connection or server must not cost all the time. So the first
// try has a tenth of the unlock timeout, and the following ones up to four times as long.
// The server sees the same request each time, with the same serial. Each try has one
// context, and a timer with it, because these cost as much as the rest of a request. A try
// that finds its connection broken has cost nothing, and all connections of the pool may
// be. So the next one follows at once, as often as the pool has connections.
func persist[T any](ctx context.Context, c *Client, until time.Time, isEnough func(tries int, err error) bool, send func(context.Context) (T, error)) (T, error) {
	pause, bound := retryPause, c.cfg.grace()+c.cfg.acksTimeout
	var cause error // of the last try that did not end with the request
	for tries, broken := 1, 0; ; tries++ {
		end := time.Now().Add(bound)
		if end.After(until) {
			end = until
		}
		once, cancel := context.WithDeadline(ctx, end)
		val, err := send(once)
		cancel()
		switch {
		case err == nil || errors.Is(err, errOverruled):
			return val, err
		case ctx.Err() != nil || !time.Now().Before(until):
			return val, cmp.Or(cause, err)
		case isEnough != nil && !isTransient(err):
			return val, err
		}
		cause = err
		if broken < c.pool && isBroken(err) {
			broken, tries = broken+1, tries-1
			continue
		}
		var closed <-chan struct{}
		if isEnough != nil {
			closed = c.life.Done()
		}
		if isEnough != nil && isEnough(tries, err) || !sleep(ctx, closed, min(pause, time.Until(until))) || !time.Now().Before(until) {
			return val, err
		}
		pause, bound = min(2*pause, retryPauseMax), min(3*bound, c.cfg.unlockTimeout*2/5)
	}
}

// sleep returns false if ctx has ended, or closed is closed, before d has passed.
func sleep(ctx context.Context, closed <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
	case <-closed:
	}
	return false
}

// grace is the time for which the first try of a request waits for its answer. A failed
// acquire waits as long for the answer to its give-back, which goes on.
func (c config) grace() time.Duration { return c.unlockTimeout / 10 }
