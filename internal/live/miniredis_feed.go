package live

import (
	"bufio"
	"context"
	"encoding/gob"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/internal/live/servers"
	"github.com/holdfast-go/holdfast/internal/live/servers/miniredis"
	"github.com/holdfast-go/holdfast/internal/redis/keyspace"
	"github.com/holdfast-go/holdfast/internal/redis/resp"
)

// miniredisFeed is the witness of a miniredis node, which reports its requests and their
// changes before it replies. So the reports of a killed node are already on their way
// without a request for them.
// It implements [Observer].
type miniredisFeed struct {
	feed
	held keyspace.Data // of lock keys, as last reported; guarded by mu
}

func newWitness(t *Truth, srv *servers.Server) (witness, error) {
	if srv.Miniredis() {
		return &miniredisFeed{feed: newFeed(t, srv), held: keyspace.Data{}}, nil
	}
	return newObserver(t, srv)
}

func (w *miniredisFeed) run(ctx context.Context) { w.follow(ctx, w.watch) }

func (w *miniredisFeed) Sync(ctx context.Context, _ bool) (ended, attached bool, err error) {
	return w.await(ctx, func(mark string) []byte { return resp.AppendRequest(nil, miniredis.MarkCommand, mark) })
}

func (w *miniredisFeed) Patterns() int { return 0 }

// Named implements [Observer]: no other program uses the node.
func (w *miniredisFeed) Named() []string { return nil }

func (w *miniredisFeed) close() {}

func (w *miniredisFeed) watch(ctx context.Context, pid int) {
	conn, err := w.srv.Dial(ctx)
	if err != nil {
		return // it is not up yet, or not any more
	}
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	defer conn.Close()
	conn.SetWriteDeadline(time.Now().Add(limit))
	if _, err := conn.Write(resp.AppendRequest(nil, miniredis.TellCommand)); err != nil {
		return
	}
	w.mu.Lock()
	w.open(conn, pid)
	w.mu.Unlock()
	in := gob.NewDecoder(bufio.NewReader(conn))
	for {
		var r miniredis.Report
		if err := in.Decode(&r); err != nil {
			break
		}
		if err := w.take(r, time.Now()); err != nil {
			w.truth.doubt(w.srv, err)
		}
	}
	w.mu.Lock()
	w.shut()
	w.mu.Unlock()
}

// take processes a report; the first one has the node's data.
func (w *miniredisFeed) take(r miniredis.Report, now time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := w.truly(r.At, now)
	if !w.attached {
		w.attached = true
		return w.begin(r, at, now)
	}
	if seen := w.waiting[r.Mark]; seen != nil {
		seen <- mark{w.changes, at}
		delete(w.waiting, r.Mark)
	}
	changed := false
	for _, c := range r.Changes {
		if w.truth.lockKey(c.Key) {
			changed = changed || c.Cause == "command"
			w.change(w.by(c, r), now)
		}
	}
	if r.From != "" {
		w.changedBy[sender{r.From, r.Command}] = changed
	}
	if r.Wrong != "" {
		return errors.New(r.Wrong)
	}
	return nil
}

// begin reports the differences between a new process and the one before.
func (w *miniredisFeed) begin(r miniredis.Report, at, now time.Time) error {
	if !w.restarted {
		return errors.New("its stream broke while it was running")
	}
	keys := slices.AppendSeq(slices.Collect(maps.Keys(w.held)), maps.Keys(r.Holds))
	slices.Sort(keys)
	for _, k := range slices.Compact(keys) {
		before, after := w.held[k], r.Holds[k]
		if w.truth.lockKey(k) && !before.Equal(after) {
			w.change(w.ranOut(keyspace.Change{Key: k, Cause: "restart", Before: before, After: after, At: at}), now)
		}
	}
	return nil
}

// by adds the author to a change.
func (w *miniredisFeed) by(c keyspace.Change, r miniredis.Report) keyspace.Change {
	if c.Cause != "command" {
		return c
	}
	if c.By = w.srv.Party(r.From); c.By == "" { // the harness itself
		c.Cause = "fault"
		return c
	}
	c.Command = r.Command
	return c
}

// change reports a change. Called with mu held.
func (w *miniredisFeed) change(c keyspace.Change, now time.Time) {
	if c.After.Exists() {
		w.held[c.Key] = c.After
	} else {
		delete(w.held, c.Key)
	}
	c.Role, c.At = rolePrimary, w.truly(c.At, now)
	w.emit(c, now)
}
