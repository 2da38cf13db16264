package checker

import (
	"cmp"
	"compress/gzip"
	"container/heap"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/checker/history"
)

// longRun says what a long history contains.
type longRun struct {
	ops      int  // lock operations, at least
	servers  bool // with the server log
	resource bool // critical sections read and write the resource
	locks    int  // 0 means 1
}

// history simulates a right lock. One server serves waiters in the order in which they
// came. There are leases with a watchdog, fencing tokens, nested holds, and 20 clients
// that work without a rest. All judges must find it right.
func (l longRun) history() *history.History {
	w := &longWorld{
		longRun: l, r: rand.New(rand.NewPCG(1, 2)), stock: int64(l.ops),
		h: &history.History{Header: history.Header{
			Format: history.Format, Scenario: "long", Lock: "simulated", World: "sim", Seed: 1, Version: "test",
			Claims: history.Terms{
				Claims:     history.Claims{Reentrant: true, Lease: true, Renewal: l.servers, Fencing: true, Fairness: true},
				RenewEvery: longLease / 3, Handoff: second, Quorum: 1, Nodes: 1,
			},
		}},
	}
	if l.resource {
		w.h.Header.Resource = &history.Resource{Initial: w.stock, Fenced: true}
	}
	for i := range max(l.locks, 1) {
		w.locks = append(w.locks, &longLock{name: fmt.Sprintf("stock-%d", i+1)})
	}
	for i := range 20 {
		c := &longClient{name: fmt.Sprintf("client-%d", i+1), lock: w.locks[i%len(w.locks)]}
		c.owner = c.name + "/1"
		w.in(int64(i)*millisecond, func() { w.try(c) })
	}
	for len(w.todo.acts) > 0 {
		a := heap.Pop(&w.todo).(longAct)
		w.now = a.t
		a.do()
	}
	w.event(history.Event{Kind: history.End, End: &history.EndEvent{}})
	return w.h
}

const longLease = second

type longWorld struct {
	longRun
	h     *history.History
	r     *rand.Rand
	now   int64
	todo  longQueue
	locks []*longLock
	id    int64
	done  int // lock operations
	stock int64
}

type longLock struct {
	name    string
	holder  *longClient
	count   int
	ttl     int64 // when the key expires
	token   uint64
	waiting []*longClient
}

type longClient struct {
	name, owner string
	lock        *longLock
	op          int64
}

func (w *longWorld) in(d int64, do func()) {
	w.todo.n++
	heap.Push(&w.todo, longAct{w.now + d, w.todo.n, do})
}

func (w *longWorld) travel() int64 { return 200_000 + w.r.Int64N(300_000) }

func (w *longWorld) event(e history.Event) {
	e.Time = w.now
	w.h.Events = append(w.h.Events, e)
}

func (w *longWorld) invoke(c *longClient, f history.Func, a history.Args) {
	w.id++
	c.op = w.id
	w.event(history.Event{Kind: history.Invoke, Op: c.op, F: f, Client: c.name, Owner: c.owner, Lock: c.lock.name, Args: &a})
}

func (w *longWorld) reply(c *longClient, kind history.Kind, f history.Func, r history.Result) {
	w.event(history.Event{Kind: kind, Op: c.op, F: f, Client: c.name, Owner: c.owner, Lock: c.lock.name, Result: &r})
}

// server changes who holds a lock, and logs it.
func (w *longWorld) server(l *longLock, by *longClient, command string, holder *longClient, count int) {
	s := &history.ServerEvent{Node: "node-1", Role: "primary", Key: l.name, Cause: "command", Command: command, By: by.name}
	if l.holder != nil {
		s.WasHolder, s.WasCount, s.WasTTL = l.holder.owner, l.count, l.ttl-w.now
	}
	l.holder, l.count, l.ttl = holder, count, w.now+longLease
	if holder != nil {
		s.Holder, s.Count, s.TTL = holder.owner, count, longLease
	}
	if w.servers {
		w.event(history.Event{Kind: history.Server, Lock: l.name, Server: s})
	}
}

// try begins a critical section, unless there were enough.
func (w *longWorld) try(c *longClient) {
	if w.done >= w.ops {
		return
	}
	w.done += 2
	wait := int64(0)
	if w.r.IntN(3) > 0 {
		wait = 10 * second
	}
	w.invoke(c, history.Acquire, history.Args{Lease: longLease, Wait: wait, Renewed: w.servers})
	w.in(w.travel(), func() {
		switch {
		case c.lock.holder == nil:
			w.grant(c, true)
		case wait == 0:
			w.done--
			w.in(w.travel(), func() {
				w.reply(c, history.Fail, history.Acquire, history.Result{Error: history.ErrBusy})
				w.in(w.r.Int64N(4*millisecond), func() { w.try(c) })
			})
		default:
			c.lock.waiting = append(c.lock.waiting, c)
		}
	})
}

func (w *longWorld) grant(c *longClient, first bool) {
	l := c.lock
	if first {
		l.token++
		w.server(l, c, "EVALSHA", c, 1)
	} else {
		w.server(l, c, "EVALSHA", c, l.count+1)
	}
	count, token := l.count, l.token
	w.in(w.travel(), func() {
		w.reply(c, history.OK, history.Acquire, history.Result{Count: count, Token: token})
		switch n := w.r.IntN(50); {
		case count == 1 && n < 4:
			w.done += 2
			w.in(w.travel(), func() {
				w.invoke(c, history.Acquire, history.Args{Lease: longLease, Wait: 0, Renewed: w.servers})
				w.in(w.travel(), func() { w.grant(c, false) })
			})
		case count == 1 && n == 4 && w.servers:
			w.hold(c, 1+w.r.IntN(4))
		default:
			w.work(c)
		}
	})
}

// hold keeps the lock for some intervals of its watchdog.
func (w *longWorld) hold(c *longClient, n int) {
	if n == 0 {
		w.work(c)
		return
	}
	w.in(longLease/3-10*millisecond, func() {
		w.server(c.lock, c, "PEXPIRE", c, c.lock.count)
		w.hold(c, n-1)
	})
}

func (w *longWorld) work(c *longClient) {
	if !w.resource || w.r.IntN(2) == 0 || c.lock != w.locks[0] {
		w.in(w.r.Int64N(2*millisecond), func() { w.release(c) })
		return
	}
	w.invoke(c, history.Read, history.Args{})
	w.in(w.travel(), func() {
		base := w.stock
		w.reply(c, history.OK, history.Read, history.Result{Value: base})
		w.in(w.r.Int64N(2*millisecond), func() {
			w.stock--
			w.invoke(c, history.Write, history.Args{Value: base - 1, Base: base, Token: c.lock.token})
			w.in(w.travel(), func() {
				w.reply(c, history.OK, history.Write, history.Result{Value: base})
				w.in(w.travel(), func() { w.release(c) })
			})
		})
	})
}

func (w *longWorld) release(c *longClient) {
	w.invoke(c, history.Release, history.Args{})
	w.in(w.travel(), func() {
		l, left := c.lock, c.lock.count-1
		if left > 0 {
			w.server(l, c, "EVALSHA", c, left)
		} else {
			w.server(l, c, "EVALSHA", nil, 0)
			if len(l.waiting) > 0 {
				next := l.waiting[0]
				l.waiting = l.waiting[1:]
				w.grant(next, true)
			}
		}
		w.in(w.travel(), func() {
			w.reply(c, history.OK, history.Release, history.Result{Count: left})
			if left > 0 {
				w.in(w.travel(), func() { w.release(c) })
				return
			}
			w.in(w.r.Int64N(4*millisecond), func() { w.try(c) })
		})
	})
}

type longAct struct {
	t  int64
	n  int
	do func()
}

type longQueue struct {
	acts []longAct
	n    int
}

func (q *longQueue) Len() int { return len(q.acts) }
func (q *longQueue) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(q.acts[i].t, q.acts[j].t), cmp.Compare(q.acts[i].n, q.acts[j].n)) < 0
}
func (q *longQueue) Swap(i, j int) { q.acts[i], q.acts[j] = q.acts[j], q.acts[i] }
func (q *longQueue) Push(a any)    { q.acts = append(q.acts, a.(longAct)) }
func (q *longQueue) Pop() any {
	a := q.acts[len(q.acts)-1]
	q.acts = slices.Delete(q.acts, len(q.acts)-1, len(q.acts))
	return a
}

// Nothing is wrong with a right lock, however long it runs.
func TestLongHistoryIsRight(t *testing.T) {
	for _, l := range []longRun{{ops: 3_000}, {ops: 3_000, servers: true}, {ops: 3_000, servers: true, resource: true}, {ops: 3_000, servers: true, locks: 4}} {
		t.Run(fmt.Sprintf("%+v", l), func(t *testing.T) {
			r, err := Judge(l.history(), Options{})
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range Properties() {
				v, ok := r.Verdicts[p.Name]
				if !l.servers && v.Reason == noServerLog {
					continue
				}
				if ok && v.Outcome != OutcomeOK {
					t.Errorf("%s: %+v", p.Name, v)
				}
			}
		})
	}
}

var (
	longOps     = flag.Int("ops", 2_000, "lock operations of the long history")
	longFile    = flag.String("history", "", "where to keep the long history, gzipped when it ends in .gz")
	longClients = flag.Bool("clients-only", false, "the long history has neither server log nor resource")
)

// A long history is the same after it was written and read. With flags, the
// file is one for trying out the command:
//
//	go test ./checker -run TestLongHistoryOnDisk -ops 1000000 -history /tmp/long.jsonl.gz
func TestLongHistoryOnDisk(t *testing.T) {
	path := *longFile
	if path == "" {
		path = filepath.Join(t.TempDir(), "long.jsonl")
	}
	h := longRun{ops: *longOps, servers: !*longClients, resource: !*longClients}.history()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	zipped := strings.HasSuffix(path, ".gz")
	if zipped {
		z := gzip.NewWriter(f)
		err = errors.Join(h.Encode(z), z.Close(), f.Close())
	} else {
		err = errors.Join(h.Encode(f), f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	r, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var in io.Reader = r
	if zipped {
		if in, err = gzip.NewReader(r); err != nil {
			t.Fatal(err)
		}
	}
	got, err := history.Decode(in)
	if err != nil {
		t.Fatal(err)
	}
	want := h.Hash()
	if got.Hash() != want || len(got.Events) != len(h.Events) {
		t.Errorf("%d events became %d", len(h.Events), len(got.Events))
	}
}
