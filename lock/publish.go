package lock

import (
	_ "embed"
	"strings"

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
