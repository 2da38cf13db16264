package main

import (
	"context"
	"errors"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
)

// A member that is cut off from the others has no leader. Unless it is asked for one
// (clientv3.WithRequireLeader), it keeps a request for seconds before it refuses it, and
// a watch for ever. A client that waits for a lock over that watch never wakes, and
// neither do those behind it. So operations ask for one. Sessions do not: theirs would be
// over at the first refusal.

// leaderless says that a member has refused a request for want of a leader. The request
// did nothing, and the next member may have a leader.
func leaderless(err error) bool { return errors.Is(err, rpctypes.ErrNoLeader) }

// again is the time to wait before the next member is asked.
const again = 20 * time.Millisecond

// insist does something until a member with a leader carries it out.
func insist(ctx context.Context, do func() error) error {
	for {
		err := do()
		if !leaderless(err) || !rest(ctx) {
			return err
		}
	}
}

// rest waits before the next member is asked; false when ctx has ended.
func rest(ctx context.Context) bool {
	select {
	case <-time.After(again):
		return true
	case <-ctx.Done():
		return false
	}
}
