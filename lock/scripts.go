package lock

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

var (
	//go:embed acquire.lua
	acquireSource string
	//go:embed release.lua
	releaseSource string
	//go:embed cancel.lua
	cancelSource string
	//go:embed renew.lua
	renewSource string
	//go:embed force.lua
	forceSource string

	acquireScript = redis.NewScript(acquireSource)
	releaseScript = redis.NewScript(releaseSource)
	cancelScript  = redis.NewScript(cancelSource)
	renewScript   = redis.NewScript(renewSource)
	forceScript   = redis.NewScript(forceSource)
)

const (
	// unlockMessage is what Redisson publishes when a lock is freed.
	unlockMessage = "0"
	// tokenRetention is how long an unused fencing counter is kept.
	tokenRetention = 7 * 24 * time.Hour
	// latchTime is how long a finished request is remembered. It covers the
	// retries of the Redis client and requests that the network held back.
	latchTime = 10 * time.Second
	// latchTimeMax bounds how long a request is remembered while its hold
	// lasts.
	latchTimeMax = time.Minute
)

// What acquire.lua answers.
const (
	replyGranted   = "granted"
	replyBusy      = "busy"
	replyGone      = "gone"
	replyCancelled = "cancelled"
)

// acquireReply is the answer to one acquire. Granted and busy differ by kind,
// never by the value of a number.
type acquireReply struct {
	kind  string
	count int
	token uint64
	pttl  time.Duration // -1ms: no expiry
	acked int           // replicas that confirmed, where asked for
}

// millis rounds up: a lease is never shorter than asked.
func millis(d time.Duration) int64 {
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}

// latchFor is how long an acquire with this lease is remembered. A nested one
// that is carried out twice is counted twice, so it is remembered for as long as
// it may be sent again.
func latchFor(lease time.Duration, held int) time.Duration {
	if held > 0 {
		return latchTimeMax
	}
	return min(max(lease, latchTime), latchTimeMax)
}

// sendAcquire runs the acquire script: one round trip, WAIT included.
func (c *Client) sendAcquire(ctx context.Context, k names, field, req string, lease time.Duration, held int) (acquireReply, error) {
	keys := []string{k.lock, k.latch + req}
	if c.cfg.fencing {
		keys = append(keys, k.token)
	}
	args := []any{millis(lease), field, held, millis(latchFor(lease, held)), millis(tokenRetention)}
	return call(ctx, c, func(ctx context.Context) (acquireReply, error) {
		if c.cfg.acks == 0 {
			val, err := acquireScript.Run(ctx, c.rdb, keys, args...).Slice()
			if err != nil {
				return acquireReply{}, err
			}
			return parseAcquire(val)
		}
		return c.acquireAndWait(ctx, keys, args)
	})
}

// acquireAndWait sends the script and WAIT down one connection, as WAIT is
// about the writes of its own connection.
func (c *Client) acquireAndWait(ctx context.Context, keys []string, args []any) (acquireReply, error) {
	var node redis.Cmdable = c.rdb
	if cluster, ok := c.rdb.(*redis.ClusterClient); ok {
		// WAIT has no key: left to itself it would go to any node.
		master, err := cluster.MasterForKey(ctx, keys[0])
		if err != nil {
			return acquireReply{}, err
		}
		node = master
	}
	send := func(eval func(p redis.Pipeliner) *redis.Cmd) (acquireReply, error) {
		pipe := node.Pipeline()
		cmd := eval(pipe)
		wait := pipe.Do(ctx, "wait", c.cfg.acks, millis(c.cfg.acksTimeout))
		_, _ = pipe.Exec(ctx) // each command has its own error
		val, err := cmd.Slice()
		if err != nil {
			return acquireReply{}, err
		}
		reply, err := parseAcquire(val)
		if err != nil || reply.kind != replyGranted {
			return reply, err
		}
		reply.acked, err = wait.Int()
		return reply, err
	}
	reply, err := send(func(p redis.Pipeliner) *redis.Cmd { return acquireScript.EvalSha(ctx, p, keys, args...) })
	if noScript(err) {
		reply, err = send(func(p redis.Pipeliner) *redis.Cmd { return acquireScript.Eval(ctx, p, keys, args...) })
	}
	return reply, err
}

func noScript(err error) bool {
	return err != nil && (errors.Is(err, redis.ErrNoScript) || redis.HasErrorPrefix(err, "NOSCRIPT"))
}

func parseAcquire(val []any) (acquireReply, error) {
	var r acquireReply
	bad := func() (acquireReply, error) { return r, fmt.Errorf("lock: acquire answered %v", val) }
	if len(val) == 0 {
		return bad()
	}
	r.kind, _ = val[0].(string)
	switch {
	case r.kind == replyGranted && len(val) == 4:
		count, ok1 := val[1].(int64)
		text, ok2 := val[2].(string)
		pttl, ok3 := val[3].(int64)
		token, err := strconv.ParseUint(text, 10, 64)
		if !ok1 || !ok2 || !ok3 || err != nil || count < 1 {
			return bad()
		}
		r.count, r.token, r.pttl = int(count), token, time.Duration(pttl)*time.Millisecond
	case r.kind == replyBusy && len(val) == 2:
		pttl, ok := val[1].(int64)
		if !ok {
			return bad()
		}
		r.pttl = time.Duration(pttl) * time.Millisecond
	case (r.kind == replyGone || r.kind == replyCancelled) && len(val) == 1:
	default:
		return bad()
	}
	return r, nil
}

// sendGiveBack runs release.lua or cancel.lua. found is false when the server
// knows no hold of this owner.
func (c *Client) sendGiveBack(ctx context.Context, script *redis.Script, k names, field, req string, owed, latch time.Duration) (found bool, count int, err error) {
	type answer struct {
		found bool
		count int
	}
	a, err := call(ctx, c, func(ctx context.Context) (answer, error) {
		val, err := script.Run(ctx, c.rdb, []string{k.lock, k.channel, k.latch + req},
			unlockMessage, field, millis(owed), millis(latch)).Slice()
		if err != nil {
			return answer{}, err
		}
		if len(val) == 1 && val[0] == "none" {
			return answer{}, nil
		}
		if len(val) == 2 && (val[0] == "released" || val[0] == "undone") {
			if n, ok := val[1].(int64); ok {
				return answer{true, int(n)}, nil
			}
		}
		return answer{}, fmt.Errorf("lock: release answered %v", val)
	})
	return a.found, a.count, err
}
