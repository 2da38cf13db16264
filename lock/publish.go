package lock

import (
	"context"
	_ "embed"
	"errors"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
)

// notifying is a script that notifies waiters. A server outside of a cluster notifies
// all its subscribers. In a cluster the message of a sharded channel stays on the nodes
// of its slot.
type notifying struct{ plain, sharded *redis.Script }

func newNotifying(source string) notifying {
	return notifying{
		plain:   redis.NewScript(plainSource + source),
		sharded: redis.NewScript(shardedSource + source),
	}
}

var (
	//go:embed publish_plain.lua
	plainSource string
	//go:embed publish_sharded.lua
	shardedSource string

	releaseScript = newNotifying(releaseSource)
	forceScript   = newNotifying(forceSource)

	fairAcquireScript = newNotifying(tokenSource + fairQueueSource + fairAcquireSource)
	fairLookScript    = newNotifying(tokenSource + fairQueueSource + fairLookSource)
	fairReleaseScript = newNotifying(tokenSource + fairQueueSource + fairReleaseSource)
)

// shardsPatience is the longest delay that the question of learnShards adds to the
// first acquire of a client.
const shardsPatience = 100 * time.Millisecond

// script returns a notifying script for the servers of the client. Until the servers have
// said that they have sharded channels, the client notifies all nodes. Waiters on sharded
// channels find a free lock when they poll.
func (c *Client) script(n notifying) *redis.Script {
	if c.shards.Load() {
		return n.sharded
	}
	return n.plain
}

// learnShards asks the node of a lock once whether it has sharded channels, and waits
// at most shardsPatience. It asks before the first request, because a concurrent
// request would make the order of connections random.
func (c *Client) learnShards(ctx context.Context, name string) {
	if _, ok := c.rdb.(*redis.ClusterClient); !ok || c.asked.Swap(true) {
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
	c.shards.Store(has)
	return has, nil
}
