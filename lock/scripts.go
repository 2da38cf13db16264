package lock

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
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
	renewScript   = redis.NewScript(renewSource)
)

const (
	// unlockMessage is the message that Redisson publishes when a lock is freed.
	unlockMessage = "0"
	// tokenRetention is the time for which the server keeps the last fencing token. While
	// it is, tokens grow whatever the server's clock does.
	tokenRetention = 7 * 24 * time.Hour
	// noteTime is the time for which the server remembers the last request of an owner
	// after the end of its hold. It covers the retries of the Redis client and late
	// requests.
	noteTime = 30 * time.Second
)

// The answers of acquire.lua.
const (
	replyGranted   = "granted"
	replyBusy      = "busy"
	replyGone      = "gone"
	replyCancelled = "cancelled"
	replyStale     = "stale"
)

// acquireReply is the answer to one acquire. Granted and busy differ in kind,
// never only in the value of a number.
type acquireReply struct {
	kind   string
	count  int
	token  uint64
	pttl   time.Duration // of a busy lock; -1ms: no expiry
	serial uint64        // of the later request that the server has seen
	hold   uint64        // of a fair lock: its id
	acked  int           // replicas that confirmed, where asked for
	copied bool          // a copy of the request may still be on its way
}

// millis rounds up, so that a lease is never shorter than requested.
func millis(d time.Duration) int64 {
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}

// sendAcquire runs the acquire script, with WAIT, in one round trip. hold is the
// owner's hold, held times; 0 for a first one.
func (s *state) sendAcquire(ctx context.Context, serial, hold uint64, lease time.Duration, held int) (acquireReply, error) {
	c, k := s.c, s.names
	keys := []string{k.lock, k.note(s.field)}
	retention := tokenRetention
	switch c.cfg.fencing {
	case fencingOwn:
		keys = append(keys, k.token)
	case fencingRedisson:
		keys, retention = append(keys, k.redissonToken), 0
	}
	sent := &sending{serial: serial}
	script := acquireScript
	args := []any{millis(lease), s.field, sent, hold, held + 1, millis(noteTime), millis(retention)}
	if s.fair {
		script = c.script(fairAcquireScript)
		keys, args = s.fairRequest(sent, lease)
	}
	return call(ctx, c, func(ctx context.Context) (acquireReply, error) {
		var reply acquireReply
		var err error
		if c.cfg.acks > 0 {
			reply, err = c.acquireAndWait(ctx, script, keys, args, sent)
		} else {
			cmd := sent.answered(script.EvalSha(ctx, c.rdb, keys, args...))
			if noScript(cmd.Err()) {
				cmd = sent.answered(script.Eval(ctx, c.rdb, keys, args...))
			}
			reply, err = parseAcquire(cmd)
		}
		if s.fair {
			reply.hold = uint64(reply.count)
		}
		reply.copied = sent.open.Load() > 1
		return reply, sent.judge(err)
	})
}

// sending is the serial of an acquire on its way. It counts how often the Redis
// client has written it to a connection, with retries, without an error of the
// server as the answer. So a request that was carried out counts.
type sending struct {
	serial uint64
	open   atomic.Int32
}

// MarshalBinary implements [encoding.BinaryMarshaler].
func (s *sending) MarshalBinary() ([]byte, error) {
	s.open.Add(1)
	return strconv.AppendUint(nil, s.serial, 10), nil
}

// String implements [fmt.Stringer], for hooks that print commands.
func (s *sending) String() string { return strconv.FormatUint(s.serial, 10) }

// judge adds ErrRefused to an error that proves that no server executed the
// request. A request that ended with a context may have executed.
func (s *sending) judge(err error) error {
	if err == nil || s.open.Load() > 0 || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return err
	}
	return errors.Join(ErrRefused, err)
}

// answered records the answer to the last write.
func (s *sending) answered(cmd *redis.Cmd) *redis.Cmd {
	var refusal redis.Error
	if errors.As(cmd.Err(), &refusal) {
		s.open.Add(-1)
	}
	return cmd
}

// acquireAndWait sends the script and WAIT over one connection, because WAIT
// concerns the writes of its own connection.
func (c *Client) acquireAndWait(ctx context.Context, script *redis.Script, keys []string, args []any, sent *sending) (acquireReply, error) {
	cluster, ok := c.rdb.(*redis.ClusterClient)
	if !ok {
		return c.acquireAndWaitAt(ctx, c.rdb, script, keys, args, sent)
	}
	// WAIT has no key: left to itself it would go to any node.
	master, err := cluster.MasterForKey(ctx, keys[0])
	if err != nil {
		return acquireReply{}, err
	}
	reply, err := c.acquireAndWaitAt(ctx, master, script, keys, args, sent)
	if !redis.HasErrorPrefix(err, "MOVED") {
		return reply, err
	}
	// The client of a single node follows no redirection. ForEachMaster asks for
	// the slots anew.
	if err := cluster.ForEachMaster(ctx, func(context.Context, *redis.Client) error { return nil }); err != nil {
		return acquireReply{}, err
	}
	if master, err = cluster.MasterForKey(ctx, keys[0]); err != nil {
		return acquireReply{}, err
	}
	return c.acquireAndWaitAt(ctx, master, script, keys, args, sent)
}

// acquireAndWaitAt is acquireAndWait on one server.
func (c *Client) acquireAndWaitAt(ctx context.Context, node redis.Cmdable, script *redis.Script, keys []string, args []any, sent *sending) (acquireReply, error) {
	send := func(eval func(p redis.Pipeliner) *redis.Cmd) (acquireReply, error) {
		pipe := node.Pipeline()
		cmd := eval(pipe)
		wait := pipe.Do(ctx, "wait", c.cfg.acks, millis(c.cfg.acksTimeout))
		_, _ = pipe.Exec(ctx) // each command has its own error
		reply, err := parseAcquire(sent.answered(cmd))
		if err != nil || reply.kind != replyGranted {
			return reply, err
		}
		reply.acked, err = wait.Int()
		return reply, err
	}
	reply, err := send(func(p redis.Pipeliner) *redis.Cmd { return script.EvalSha(ctx, p, keys, args...) })
	if noScript(err) {
		reply, err = send(func(p redis.Pipeliner) *redis.Cmd { return script.Eval(ctx, p, keys, args...) })
	}
	return reply, err
}

func noScript(err error) bool {
	return redis.HasErrorPrefix(err, "NOSCRIPT")
}

func parseAcquire(cmd *redis.Cmd) (acquireReply, error) {
	var r acquireReply
	val, err := cmd.Slice()
	if err != nil {
		return r, err
	}
	bad := func() (acquireReply, error) { return r, fmt.Errorf("lock: acquire answered %v", val) }
	if len(val) == 0 {
		return bad()
	}
	r.kind, _ = val[0].(string)
	switch {
	case r.kind == replyGranted && len(val) == 4:
		count, ok1 := val[1].(int64)
		text, ok2 := val[2].(string)
		_, ok3 := val[3].(int64) // the rest of the lease, which the owner counts itself
		token, err := strconv.ParseUint(text, 10, 64)
		if !ok1 || !ok2 || !ok3 || err != nil || count < 1 {
			return bad()
		}
		r.count, r.token = int(count), token
	case r.kind == replyBusy && len(val) == 2:
		pttl, ok := val[1].(int64)
		if !ok {
			return bad()
		}
		r.pttl = time.Duration(pttl) * time.Millisecond
	case r.kind == replyStale && len(val) == 2:
		text, _ := val[1].(string)
		serial, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return bad()
		}
		r.serial = serial
	case (r.kind == replyGone || r.kind == replyCancelled) && len(val) == 1:
	default:
		return bad()
	}
	return r, nil
}

// sendRelease releases all but left of the owner's holds, which are still owed so
// much lease. found is false if the server does not know the hold.
func (s *state) sendRelease(ctx context.Context, serial, hold uint64, left int, owed time.Duration) (found bool, err error) {
	if s.fair {
		keys, args := fairKeys(s.names)
		return s.c.sendGiveBack(ctx, s.c.script(fairReleaseScript), "released", keys, append(args, s.field, serial, hold)...)
	}
	return s.c.sendGiveBack(ctx, s.c.script(releaseScript), "released", s.giveBackKeys(),
		unlockMessage, s.field, serial, hold, left, millis(owed), millis(noteTime))
}

// sendCancel takes an acquire back; the owner's other held holds are still owed so
// much lease.
func (s *state) sendCancel(ctx context.Context, u undo, held int, owed time.Duration) error {
	if s.fair {
		keys, args := fairKeys(s.names)
		_, err := s.c.sendGiveBack(ctx, s.c.script(fairLeaveScript), "undone", keys, append(args, s.field, u.serial, millis(noteTime))...)
		return err
	}
	_, err := s.c.sendGiveBack(ctx, s.c.script(cancelScript), "undone", s.giveBackKeys(),
		unlockMessage, s.field, u.serial, held, millis(owed), millis(noteTime))
	return err
}

func (s *state) giveBackKeys() []string {
	return []string{s.names.lock, s.names.channel, s.names.note(s.field)}
}

// sendGiveBack runs release.lua or cancel.lua, which answers done or none.
func (c *Client) sendGiveBack(ctx context.Context, script *redis.Script, done string, keys []string, args ...any) (found bool, err error) {
	return call(ctx, c, func(ctx context.Context) (bool, error) {
		val, err := script.Run(ctx, c.rdb, keys, args...).Slice()
		switch {
		case err != nil:
			return false, err
		case len(val) == 1 && val[0] == "none":
			return false, nil
		case len(val) == 2 && val[0] == done:
			return true, nil
		}
		return false, fmt.Errorf("lock: release answered %v", val)
	})
}
