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

// publishing are the scripts that tell waiters something.
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

	// A server that is no member of a cluster tells all its subscribers. In a cluster
	// the message of a sharded channel stays with the nodes that have its slot.
	publishingPlain   = newPublishing(redis.NewScript)
	publishingSharded = newPublishing(func(source string) *redis.Script {
		return redis.NewScript(shardedSource + strings.ReplaceAll(source, "redis.call('publish',", "publish("))
	})
)

// shardsPatience is how much longer the first acquire of a client may take.
const shardsPatience = 100 * time.Millisecond

// What a client knows of the channels of its servers.
const (
	shardsUnknown int32 = iota
	shardsAsked
	shardsNone
	shardsKnown
)

// publishing are the scripts for the servers of the client. Until it knows that they
// have sharded channels, it tells all nodes, and others find out by their looks.
func (c *Client) publishing() *publishing {
	if c.shards.Load() == shardsKnown {
		return publishingSharded
	}
	return publishingPlain
}

// learnShards asks the node of a lock for sharded channels, once, and not for long. It
// does so before anything else: a request beside the first one would make the order of
// connections a matter of chance.
func (c *Client) learnShards(ctx context.Context, name string) {
	if _, ok := c.rdb.(*redis.ClusterClient); !ok || !c.shards.CompareAndSwap(shardsUnknown, shardsAsked) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, shardsPatience)
	defer cancel()
	_, _ = call(ctx, c, func(ctx context.Context) (bool, error) { return c.askSharded(ctx, name) }) // else the hub asks
}

// askSharded says whether the server of a key has sharded channels, and remembers
// that. A server that is no member of a cluster is not asked, and one that does not
// allow the question counts as one that has none.
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
