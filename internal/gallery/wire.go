package gallery

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/lock"
)

// Scripts of the reference lock, by what they say about themselves.
const (
	acquireScript = "-- Takes one hold."
	releaseScript = "-- Gives holds back,"
	renewScript   = "-- Makes a hold last"
)

// scriptNames are the scripts whose edits mutants.yaml has, by its names for them.
var scriptNames = map[string]string{
	"acquire": acquireScript, "release": releaseScript, "take-back": releaseScript, "renew": renewScript, FairQueue: FairQueue,
	"delete": "-- Deletes the lock if the owner", "permit-enter": "how many of them to take", "permit-leave": "-- many they are, ARGV[3]",
	"read-write-enter": "ARGV[3] its mode", "read-write-leave": "lease; ARGV[1] a hold.",
}

// edit replaces a piece of a script, everywhere in it.
type edit struct{ Script, Old, New string }

// apply returns the edited source. A piece that is not there is a mistake of
// the gallery: the mutant would be none.
func (e edit) apply(source string) string {
	if !strings.Contains(source, e.Old) {
		panic(fmt.Sprintf("gallery: the script %q does not say %q any more", e.Script, e.Old))
	}
	return strings.ReplaceAll(source, e.Old, e.New)
}

// wire is a go-redis hook between a lock and Redis. It stands before go-redis'
// own retries, so it sees a request once, however often it is sent.
//
// It has to know which script a request runs. An EVALSHA of a script whose
// source has not passed is therefore answered NOSCRIPT without asking the
// server, and the client then sends the source.
// It implements [redis.Hook].
type wire struct {
	edits []edit
	// endless says that a request goes on at the deadline of its context.
	endless bool
	// before may change a request. False: it is not sent, and before has set
	// its result. after sees the result, and may change it. Either may be nil.
	before func(ctx context.Context, r *request) bool
	after  func(r *request)

	mu     sync.Mutex
	source map[string]sent // by the SHA of the original
}

// sent is a script whose source has passed.
type sent struct{ script, sha string }

type request struct {
	redis.Cmder
	script string // which one it runs, see acquireScript; empty for another command
	keys   int    // of the script
}

// key and arg are the i-th key and argument of a script, from 1 as in Lua.
func (r *request) key(i int) string { return r.Args()[2+i].(string) }
func (r *request) arg(i int) any    { return r.Args()[2+r.keys+i] }

func (r *request) setArg(i int, v any) { r.Args()[2+r.keys+i] = v }

// answer sets the result of a script that is not sent.
func (r *request) answer(v any) bool {
	r.Cmder.(*redis.Cmd).SetVal(v)
	return false
}

func (r *request) fail(err error) bool {
	r.SetErr(err)
	return false
}

// reply is the list that a script has answered, nil after an error.
func (r *request) reply() []any {
	cmd, ok := r.Cmder.(*redis.Cmd)
	if !ok || cmd.Err() != nil {
		return nil
	}
	list, _ := cmd.Val().([]any)
	return list
}

func (r *request) takesBack() bool { return r.script == releaseScript && r.arg(3) == uint64(0) }

func (r *request) released() bool {
	cmd, ok := r.Cmder.(*redis.Cmd)
	return ok && r.script == releaseScript && cmd.Err() == nil && cmd.Val() == int64(1)
}

// is reports whether a script was run and its answer begins with word.
func (r *request) is(script, word string) bool {
	list := r.reply()
	return r.script == script && len(list) > 0 && list[0] == word
}

func (*wire) DialHook(next redis.DialHook) redis.DialHook { return next }

func (w *wire) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		r, ok := w.admit(ctx, cmd)
		if !ok {
			return cmd.Err()
		}
		if w.endless {
			ctx = context.WithoutCancel(ctx)
		}
		if err := next(ctx, cmd); err != nil {
			cmd.SetErr(err)
		}
		if w.after != nil {
			w.after(r)
		}
		return cmd.Err()
	}
}

func (w *wire) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		var through []*request
		var rest []redis.Cmder
		for _, cmd := range cmds {
			if r, ok := w.admit(ctx, cmd); ok {
				through, rest = append(through, r), append(rest, cmd)
			}
		}
		if len(rest) > 0 {
			_ = next(ctx, rest) // each command has its own error
		}
		for _, r := range through {
			if w.after != nil {
				w.after(r)
			}
		}
		for _, cmd := range cmds {
			if err := cmd.Err(); err != nil {
				return err
			}
		}
		return nil
	}
}

// admit reads a command, edits its script, and asks before.
func (w *wire) admit(ctx context.Context, cmd redis.Cmder) (*request, bool) {
	r := &request{Cmder: cmd}
	args := cmd.Args()
	switch cmd.Name() {
	case "eval":
		src := args[1].(string)
		edited := src
		r.script = scriptOf(src)
		for _, e := range w.edits {
			if scriptNames[e.Script] == r.script {
				edited = e.apply(edited)
			}
		}
		w.mu.Lock()
		if w.source == nil {
			w.source = map[string]sent{}
		}
		w.source[sha(src)] = sent{r.script, sha(edited)}
		w.mu.Unlock()
		args[1] = edited
	case "evalsha":
		w.mu.Lock()
		known, ok := w.source[args[1].(string)]
		w.mu.Unlock()
		if !ok {
			return nil, r.fail(redis.ErrNoScript)
		}
		r.script, args[1] = known.script, known.sha
	}
	if r.script != "" {
		r.keys = args[2].(int)
	}
	if w.before != nil && !w.before(ctx, r) {
		return nil, false
	}
	return r, true
}

func sha(src string) string {
	sum := sha1.Sum([]byte(src))
	return hex.EncodeToString(sum[:])
}

func scriptOf(src string) string {
	for _, s := range scriptNames { // no script says two of them
		if strings.Contains(src, s) {
			return s
		}
	}
	return "another"
}

var edited = wired(func(p Process) *wire { return &wire{edits: p.edits} })

// wired is the base with hooks between it and its servers, one each. newWire is
// called once for every server.
func wired(newWire func(p Process) *wire) opening {
	return func(p Process) (Locks, error) {
		hook(p, newWire)
		return p.Base(p.Clients)
	}
}

func hook(p Process, newWire func(p Process) *wire) {
	for _, rdb := range p.Clients {
		if rdb, ok := rdb.(*redis.Client); ok {
			rdb.Options().ContextTimeoutEnabled = true // else the lock leaves hooks aside
		}
		rdb.AddHook(newWire(p))
	}
}

// Overhear puts hooks before clients as many mutants have them, but these change nothing.
// The client sends some other requests because of them, see [wire]; these mutants are to
// be compared with a lock on such clients.
func Overhear(clients []redis.UniversalClient) {
	hook(Process{Clients: clients}, func(Process) *wire { return &wire{} })
}

func with(opts ...lock.Option) opening {
	return func(p Process) (Locks, error) { return p.Base(p.Clients, opts...) }
}
