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
	//go:embed token.lua
	tokenSource string
	//go:embed acquire.lua
	acquireSource string
	//go:embed release.lua
	releaseSource string
	//go:embed renew.lua
	renewSource string
	//go:embed force.lua
	forceSource string

	acquireScript = redis.NewScript(tokenSource + acquireSource)
	renewScript   = redis.NewScript(renewSource)
)

const (
	// unlockMessage is the message that Redisson publishes when a lock is freed.
	unlockMessage = "0"
	// tokenRetention is the time for which the server keeps the last fencing token. While
	// it is, tokens grow whatever the server's clock does.
	tokenRetention = 7 * 24 * time.Hour
	// noteTime is the time for which the server keeps a note of an owner's last request.
	// It covers the retries of the Redis client and late requests.
	noteTime = 30 * time.Second
)

// The answers of acquire.lua.
const (
	replyGranted = "granted"
	replyBusy    = "busy"
	replyGone    = "gone"
	replyStale   = "stale"
)

// acquireReply is the answer to one acquire.
type acquireReply struct {
	kind   string
	hold   uint64        // of a grant: its id
	token  uint64        // of a first grant
	pttl   time.Duration // of a busy lock; -1ms: no expiry
	serial uint64        // of the later request that the server has seen
	acked  int           // replicas that confirmed, where asked for
}

// millis rounds up, so that a lease is never shorter than requested.
func millis(d time.Duration) int64 {
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}

// tokenKey is the key of the last fencing token, and how long the server keeps it in ms.
// A fair lock has tokens in any case.
func (n names) tokenKey(f fencing, fair bool) (key string, retention int64) {
	switch {
	case f == fencingRedisson:
		return n.redissonToken, 0
	case f == fencingOwn || fair:
		return n.token, millis(tokenRetention)
	}
	return "", 0
}

// request is a request to acquire. It counts how often the Redis client has written it to
// a connection, with retries, without an error of the server as the answer. So a request
// that was carried out counts.
type request struct {
	serial   uint64
	hold     uint64 // 0 for a first one
	count    int    // holds of the owner with it
	lease    time.Duration
	open     atomic.Int32
	underway atomic.Int32 // goroutines that may still write it
}

// write is a request as an argument of a command. The Redis client of a cluster sends the
// command again after an error, such as a redirection, and the command then has that error.
type write struct {
	*request
	cmd *redis.Cmd
}

// MarshalBinary implements [encoding.BinaryMarshaler].
func (w *write) MarshalBinary() ([]byte, error) {
	w.answered().SetErr(nil) // it counts once
	w.open.Add(1)
	return strconv.AppendUint(nil, w.serial, 10), nil
}

// String implements [fmt.Stringer], for hooks that print commands.
func (r *request) String() string { return strconv.FormatUint(r.serial, 10) }

// isUnsent reports whether no server can have executed the request.
func (r *request) isUnsent() bool { return r.open.Load() == 0 && r.underway.Load() == 0 }

// isCopied reports whether a copy of the answered request may still arrive.
func (r *request) isCopied() bool { return r.open.Load() > 1 || r.underway.Load() > 0 }

// answered records the answer to the last write.
func (w *write) answered() *redis.Cmd {
	var refusal redis.Error
	if errors.As(w.cmd.Err(), &refusal) {
		w.open.Add(-1)
	}
	return w.cmd
}

// sendAcquire runs the acquire script, with WAIT, in one round trip.
func (s *state) sendAcquire(ctx context.Context, r *request) (acquireReply, error) {
	c, script := s.c, acquireScript
	keys := []string{s.names.lock}
	token, retention := s.names.tokenKey(c.cfg.fencing, false)
	if r.hold == 0 {
		keys = append(keys, s.names.note(s.field))
		if token != "" {
			keys = append(keys, token)
		}
	}
	args := func(w *write) []any { return []any{s.field, w, r.hold, r.count, millis(r.lease), retention} }
	if s.fair {
		script = c.script(fairAcquireScript)
		keys, args = s.fairRequest(r)
	}
	r.underway.Add(1)
	return call(ctx, c, func(ctx context.Context) (acquireReply, error) {
		defer r.underway.Add(-1)
		if c.cfg.acks > 0 {
			return c.acquireAndWait(ctx, script, keys, args, r)
		}
		cmd := evaluate(ctx, c.rdb, script, keys, args, r)
		if !s.fair && len(keys) == 2 && isMigrating(cmd.Err()) {
			cmd = evaluate(ctx, c.rdb, script, keys[:1], args, r)
		}
		return parseAcquire(cmd)
	})
}

// evaluate runs a script, which it loads if the server does not have it. A pipeline only
// makes the command, which then has the request as an argument before it is sent.
func evaluate(ctx context.Context, rdb processor, script *redis.Script, keys []string, args func(*write) []any, r *request) *redis.Cmd {
	one := func(eval func(context.Context, redis.Scripter, []string, ...any) *redis.Cmd) *redis.Cmd {
		w := &write{request: r}
		w.cmd = eval(ctx, rdb.Pipeline(), keys, args(w)...)
		_ = rdb.Process(ctx, w.cmd) // the command has the error
		return w.answered()
	}
	cmd := one(script.EvalSha)
	if isNoScript(cmd.Err()) {
		cmd = one(script.Eval)
	}
	return cmd
}

// processor is a Redis client, or one of its connections.
type processor interface {
	Pipeline() redis.Pipeliner
	Process(ctx context.Context, cmd redis.Cmder) error
}

// isMigrating reports whether the slot of the lock migrates. Until it has, no server takes a
// script with a key that is not there. A script of the lock alone is executed.
func isMigrating(err error) bool { return redis.HasErrorPrefix(err, "TRYAGAIN") }

func isNoScript(err error) bool { return redis.HasErrorPrefix(err, "NOSCRIPT") }

// connector is a Redis client that gives one of its connections away for a while.
type connector interface{ Conn() *redis.Conn }

// acquireAndWait sends the script and, after a grant, WAIT over the same connection, whose
// writes WAIT concerns. A busy lock has nothing to confirm, and a server without a replica
// would take the whole time for that.
func (c *Client) acquireAndWait(ctx context.Context, script *redis.Script, keys []string, args func(*write) []any, r *request) (acquireReply, error) {
	node, _ := c.rdb.(connector)
	cluster, ok := c.rdb.(*redis.ClusterClient)
	if ok { // WAIT has no key: left to itself it would go to any node.
		master, err := cluster.MasterForKey(ctx, keys[0])
		if err != nil {
			return acquireReply{}, err
		}
		node = master
	}
	conn := node.Conn()
	defer conn.Close()
	reply, err := parseAcquire(evaluate(ctx, conn, script, keys, args, r))
	switch {
	case err == nil && reply.kind == replyGranted:
		var acked int64
		acked, err = conn.Wait(ctx, c.cfg.acks, c.cfg.acksTimeout).Result()
		reply.acked = int(acked)
	case ok && redis.HasErrorPrefix(err, "MOVED"): // the client of one node follows no redirection, but the next try does
		cluster.ReloadState(ctx)
	}
	return reply, err
}

// parseAcquire reads the answer of acquire.lua or fair_acquire.lua.
func parseAcquire(cmd *redis.Cmd) (acquireReply, error) {
	var r acquireReply
	val, err := cmd.Slice()
	if err != nil {
		return r, err
	}
	number := func(i int) (n uint64) {
		text, ok := val[i].(string)
		if n, err = strconv.ParseUint(text, 10, 64); !ok || err != nil {
			err = errors.Join(err, strconv.ErrSyntax)
		}
		return n
	}
	if len(val) > 0 {
		r.kind, _ = val[0].(string)
	}
	ok := true
	switch {
	case r.kind == replyGranted && len(val) == 3:
		if r.hold = number(1); err == nil {
			r.token = number(2)
		}
	case r.kind == replyBusy && len(val) == 2:
		var pttl int64
		pttl, ok = val[1].(int64)
		r.pttl = time.Duration(pttl) * time.Millisecond
	case r.kind == replyStale && len(val) == 2:
		r.serial = number(1)
	default:
		ok = r.kind == replyGone && len(val) == 1
	}
	if !ok || err != nil {
		return r, fmt.Errorf("%w: acquire answered %v", errNonsense, val)
	}
	return r, nil
}

// sendGiveBack runs the release script, which reports whether the server knew the hold.
func (s *state) sendGiveBack(ctx context.Context, g *giveBack, left int) (found bool, err error) {
	c, n := s.c, s.names
	note := n.note(s.field)
	args := []any{s.field, g.serial, g.hold, left, n.channel, unlockMessage, millis(noteTime)}
	return call(ctx, c, func(ctx context.Context) (bool, error) {
		var cmd *redis.Cmd
		if s.fair {
			keys, args := fairKeys(c, n)
			cmd = c.script(fairReleaseScript).Run(ctx, c.rdb, append(keys, note), append(args, s.field, g.serial, g.hold, millis(noteTime))...)
		} else {
			cmd = c.script(releaseScript).Run(ctx, c.rdb, []string{n.lock, note}, args...)
		}
		if isMigrating(cmd.Err()) && (!s.fair || g.hold != 0) { // a look hands a fair lock on later
			cmd = c.script(releaseScript).Run(ctx, c.rdb, []string{n.lock}, args...)
		}
		return parseFound(cmd)
	})
}

// parseFound reads the answer of a script that answers 1, or 0 for a hold that is not
// there.
func parseFound(cmd *redis.Cmd) (bool, error) {
	val, err := cmd.Result()
	if err == nil && val != int64(0) && val != int64(1) {
		err = fmt.Errorf("%w: it answered %v", errNonsense, val)
	}
	return val == int64(1), err
}

// sendRenewals makes holds last for a lease from now, in one round trip, and fills in what
// came of each.
func (c *Client) sendRenewals(ctx context.Context, batch []*renewal) {
	type answer struct {
		held bool
		err  error
	}
	sent := time.Now()
	answers, err := call(ctx, c, func(ctx context.Context) ([]answer, error) {
		keys := func(r *renewal) []string { return []string{r.s.names.lock} }
		args := func(r *renewal) []any { return []any{r.s.field, r.cur.id, millis(r.lease)} }
		cmds := make([]*redis.Cmd, len(batch))
		pipe := c.rdb.Pipeline()
		for i, r := range batch {
			cmds[i] = renewScript.EvalSha(ctx, pipe, keys(r), args(r)...)
		}
		_, _ = pipe.Exec(ctx) // each command has its own error
		again := c.rdb.Pipeline()
		for i, r := range batch {
			if isNoScript(cmds[i].Err()) {
				cmds[i] = renewScript.Eval(ctx, again, keys(r), args(r)...)
			}
		}
		_, _ = again.Exec(ctx)
		answers := make([]answer, len(batch))
		for i, cmd := range cmds {
			answers[i].held, answers[i].err = parseFound(cmd)
		}
		return answers, nil
	})
	for i, r := range batch {
		a := answer{err: err}
		if err == nil {
			a = answers[i]
			awaitEnd(ctx, a.err)
		}
		r.sent, r.held, r.err = sent, a.held, nil
		if a.err != nil {
			r.err = fmt.Errorf("renew lock: %w", a.err)
		}
	}
}
