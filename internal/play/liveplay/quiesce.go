package liveplay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/internal/play"
)

// endLimit bounds each step of ending a client process.
const endLimit = 10 * time.Second

// rest waits until only lasting leftovers remain, at most until every lease is over, and
// then looks at them. A watchdog that still runs has the time for one more renewal.
func (l *liveRun) rest(ctx context.Context) {
	longest := time.Now().Add(play.LongestLease(l.clients)*3/2 + l.Scenario.Scaled(5*time.Second))
	once := time.Duration(l.Lock.Terms(l.Scenario.Setting()).RenewEvery)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for begin := time.Now(); ctx.Err() == nil; <-tick.C {
		keys, err := l.remaining(ctx)
		if err != nil {
			l.Err = errors.Join(l.Err, err)
			return
		}
		subscriptions, err := l.world.Subscriptions(ctx)
		if err != nil {
			l.Err = errors.Join(l.Err, err)
			return
		}
		l.End.Keys, l.End.Subscriptions = keys, subscriptions
		if now := time.Now(); (len(keys)+subscriptions == 0 && now.Sub(begin) > once) || now.After(longest) {
			return
		}
	}
}

// remaining lists the leftover keys.
func (l *liveRun) remaining(ctx context.Context) ([]string, error) {
	keys, err := l.world.Keys(ctx)
	if err != nil {
		return nil, err
	}
	var left []string
	for _, k := range keys {
		if l.Leftover(k.Name, k.TTL) {
			left = append(left, k.Node+" "+k.Name)
		}
	}
	slices.Sort(left)
	return left, nil
}

// finish ends the clients, and returns the remaining goroutines of their locks. A
// process that does not end is a leftover as well.
func (l *liveRun) finish(ctx context.Context) []string {
	left := make([][]string, len(l.procs))
	var all sync.WaitGroup
	for i, p := range l.procs {
		if p.Crashed() || p.Err() != nil {
			continue
		}
		all.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, endLimit)
			defer cancel()
			var err error
			if left[i], err = p.Conversation().Finish(ctx); err != nil && p.Err() == nil {
				left[i] = []string{fmt.Sprintf("%s did not close its lock within %s: %v", p.Name(), endLimit, err)}
			}
		})
	}
	all.Wait()
	return slices.Concat(left...)
}

// connections is the number of client connections that are open after the time for
// closing them.
func (l *liveRun) connections(ctx context.Context) int {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(time.Second); ; <-tick.C {
		n := l.world.ClientConnections()
		if n == 0 || time.Now().After(end) || ctx.Err() != nil {
			return n
		}
	}
}
