package lock

import (
	"context"
	_ "embed"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// publishing are the scripts that notify waiters.
type publishing struct {
	release, cancel, force                        *redis.Script
	fairAcquire, fairLook, fairRelease, fairLeave *redis.Script
}

func newPublishing(script func(source string) *redis.Script) *publishing {
	return &publishing{
		release:     script(releaseSource),
		cancel:      script(cancelSource),
		force:       script(forceSource),
		fairAcquire: script(fairQueueSource + fairAcquireSource),
		fairLook:    script(fairQueueSource + fairLookSource),
		fairRelease: script(fairQueueSource + fairReleaseSource),
		fairLeave:   script(fairQueueSource + fairLeaveSource),
	}
}

var (
	//go:embed publish_sharded.lua
	shardedSource string

	// A server outside of a cluster notifies all its subscribers. In a cluster the
	// message of a sharded channel stays on the nodes of its slot.
	publishingPlain   = newPublishing(redis.NewScript)
	publishingSharded = newPublishing(func(source string) *redis.Script {
		return redis.NewScript(shardedSource + strings.ReplaceAll(source, "redis.call('publish',", "publish("))
	})
)

// shardsPatience is the longest delay that the question of learnShards adds to the
// first acquire of a client.
const shardsPatience = 100 * time.Millisecond

// What a client knows of the channels of its servers.
const (
	shardsUnknown int32 = iota
	shardsAsked
	shardsNone
	shardsKnown
)

// publishing returns the scripts for the servers of the client. Until the client
// knows that they have sharded channels, it notifies all nodes, and waiters on
// sharded channels find a free lock when they poll.
func (c *Client) publishing() *publishing {
	if c.shards.Load() == shardsKnown {
		return publishingSharded
	}
	return publishingPlain
}

// learnShards asks the node of a lock once whether it has sharded channels, and waits
// at most shardsPatience. It asks before the first request, because a concurrent
// request would make the order of connections random.
func (c *Client) learnShards(ctx context.Context, name string) {
	if _, ok := c.rdb.(*redis.ClusterClient); !ok || !c.shards.CompareAndSwap(shardsUnknown, shardsAsked) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, shardsPatience)
	defer cancel()
	_, _ = call(ctx, c, func(ctx context.Context) (bool, error) { return c.askSharded(ctx, name) }) // otherwise the hub asks
}

// askSharded reports whether the server of a key has sharded channels, and remembers
// the answer. It does not ask a server outside of a cluster. A server that refuses the
// question counts as one without sharded channels.
func (c *Client) askSharded(ctx context.Context, key string) (bool, error) {
	cluster, ok := c.rdb.(*redis.ClusterClient)
	if !ok {
		return false, nil
	}
	master, err := cluster.MasterForKey(ctx, key)
	if err != nil {
		return false, err
	}
	commands, err := master.Do(ctx, "command", "info", "spublish").Slice()
	var refusal redis.Error
	if err != nil && !errors.As(err, &refusal) {
		return false, err
	}
	has := slices.ContainsFunc(commands, func(command any) bool {
		info, _ := command.([]any)
		return len(info) > 0 && info[0] == "spublish"
	})
	if has {
		c.shards.Store(shardsKnown)
	} else {
		c.shards.Store(shardsNone)
	}
	return has, nil
}
