package checker

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/checker/internal/linear"
)

// online feeds a history to an Online: the verdict when all is known, the final
// one, and after which event it was violated, 0 for never.
func online(tb testing.TB, h *history.History) (all, final Verdict, early int) {
	tb.Helper()
	o, err := NewOnline(h.Header)
	if err != nil {
		tb.Fatal(err)
	}
	for i, e := range h.Events {
		if all, err = o.Add(e); err != nil {
			tb.Fatal(err)
		}
		if early == 0 && all.Outcome == Violated {
			early = i + 1
		}
	}
	if final, err = o.Close(); err != nil {
		tb.Fatal(err)
	}
	return all, final, early
}

// withoutServers is a history with the clients' evidence alone, and without
// tokens that would give the order.
func withoutServers(h *history.History) *history.History {
	c := &history.History{Header: h.Header}
	c.Header.Claims.Fencing = false
	for _, e := range h.Events {
		if e.Kind != history.Server {
			c.Events = append(c.Events, e)
		}
	}
	return c
}

// sameOnline fails the test unless Online comes to the outcome of Judge, also
// in what a run proves that contains too little. It returns what Judge would
// say of one that contains enough.
func sameOnline(tb testing.TB, h *history.History) Outcome {
	tb.Helper()
	h = withoutServers(h)
	if err := history.Validate(h); err != nil {
		tb.Fatal(err)
	}
	want, err := judgeLinearizable(newTrace(h), Options{Budget: 2 * time.Second})
	if err != nil {
		tb.Fatal(err)
	}
	got, final, early := online(tb, h)
	if got.Outcome == Unknown && want.Outcome == Violated {
		return Unknown // the search may begin anew with more room
	}
	if got.Outcome != want.Outcome && want.Outcome != Unknown {
		tb.Fatalf("online says %+v, Judge %+v\n%s", got, want, encoded(tb, h))
	}
	if got.Outcome == Violated && (early == 0 || got.Reason == "" || len(got.Ops) == 0 || len(got.Ops) > linear.MaxCause || got.AtMS > ms(h.Events[early-1].Time)) {
		tb.Fatalf("bad verdict, known after event %d: %+v\n%s", early, got, encoded(tb, h))
	}
	if why := vacuous(h); got.Outcome == OutcomeOK && why != "" && (final.Outcome != Unknown || final.Reason != why) {
		tb.Fatalf("vacuous (%s), and the final verdict is %+v", why, final)
	}
	return want.Outcome
}

// played is a history of at most three clients, two owners each, that play
// with a lock as the bytes tell: who acts next, how much later, and how. The
// lock is right, but for what the bytes change.
func played(data []byte) *history.History {
	at := func(i int) byte {
		if i < len(data) {
			return data[i]
		}
		return 0
	}
	h := &history.History{Header: history.Header{Format: history.Format, Claims: history.Claims{Reentrant: at(0)&1 > 0, Lease: at(0)&2 > 0, Nodes: 1}}}
	if at(0)&28 == 28 {
		h.Header.Claims.Nodes, h.Header.Claims.Quorum = 3, 2
	}
	type hold struct {
		owner string
		count int
		until int64
	}
	held := map[string]*hold{}
	open := map[string]*history.Event{}
	effect := map[string]*history.Event{} // what the open operation will return
	dead := map[string]bool{}
	now := int64(0)
	carryOut := func(inv *history.Event) *history.Event {
		l := held[inv.Lock]
		if l == nil || l.count == 0 || now >= l.until {
			l = &hold{}
			held[inv.Lock] = l
		}
		e := &history.Event{Kind: history.OK, Op: inv.Op, F: inv.F, Client: inv.Client, Owner: inv.Owner, Lock: inv.Lock, Result: &history.Result{}}
		mine := l.count > 0 && l.owner == inv.Owner
		switch inv.F {
		case history.Acquire:
			if l.count > 0 && (!mine || !h.Header.Claims.Reentrant) {
				e.Kind, e.Result.Error = history.Fail, history.ErrBusy
				break
			}
			l.owner, l.count = inv.Owner, l.count+1
			end := int64(never)
			if lease := inv.Args.Lease; lease > 0 && h.Header.Claims.Lease {
				end = now + lease
			}
			l.until = max(l.until, end)
			e.Result.Count = l.count
		case history.Release:
			if !mine {
				e.Kind, e.Result.Error = history.Fail, history.ErrNotHeld
				break
			}
			l.count--
			e.Result.Count = l.count
		case history.Inspect:
			if mine {
				e.Result.Count = l.count
			}
		}
		return e
	}
	id := int64(0)
	for i := 1; i+2 < len(data) && len(h.Events) < 120; i += 3 {
		a, b, c := data[i], data[i+1], data[i+2]
		now += int64(b&15) * 3 * millisecond
		client := fmt.Sprintf("client-%d", 1+a&3%3)
		owner := fmt.Sprintf("%s/%d", client, 1+a>>2&1)
		if dead[client] {
			continue
		}
		if inv := open[owner]; inv != nil {
			e := effect[owner]
			switch {
			case e == nil && b>>4 < 4: // it takes effect now, and returns later
				effect[owner] = carryOut(inv)
				continue
			case e == nil:
				e = carryOut(inv)
			}
			switch c {
			case 0, 1, 2, 3, 4, 5:
				e.Kind, e.Result = history.Info, &history.Result{Error: history.ErrUnknown}
			case 6:
				e.Kind, e.Result = history.Fail, &history.Result{Error: []string{history.ErrCanceled, history.ErrAcks, history.ErrOther}[int(b>>4)%3]}
			case 7:
				e.Kind, e.Result = history.Fail, &history.Result{Error: []string{history.ErrBusy, history.ErrNotHeld, history.ErrLost}[int(b>>4)%3]}
			case 8:
				e.Kind, e.Result = history.OK, &history.Result{Count: int(b >> 4)}
			case 9:
				e = &history.Event{Kind: history.Note, F: history.Crashed, Client: client}
				dead[client] = true
			}
			if inv.F == history.Inspect && e.Kind == history.Fail {
				e.Result.Error = history.ErrOther
			}
			e.Time = now
			h.Events = append(h.Events, *e)
			delete(open, owner)
			delete(effect, owner)
			continue
		}
		id++
		e := &history.Event{Time: now, Kind: history.Invoke, Op: id, F: []history.Func{history.Acquire, history.Release, history.Acquire, history.Release, history.Inspect, history.Acquire, history.Release, history.Release}[c&7], Client: client, Owner: owner,
			Lock: []string{"stock", "stock", "stock", "price"}[c>>3&3], Args: &history.Args{Lease: int64(c>>5) * 40 * millisecond, Renewed: b>>4 == 15}}
		open[owner] = e
		h.Events = append(h.Events, *e)
	}
	h.Events = append(h.Events, history.Event{Time: now + 1, Kind: history.End, End: &history.EndEvent{}})
	return h
}

// Online comes to the same end as Judge on what the clients saw.
func TestOnlineAgainstJudge(t *testing.T) {
	r := rand.New(rand.NewPCG(12, 13))
	n := map[Outcome]int{}
	rounds := 4000
	if testing.Short() {
		rounds /= 10
	}
	for i := range rounds {
		h := noise(r)
		if i%4 > 0 {
			data := make([]byte, 1+3*r.IntN(30))
			for j := range data {
				data[j] = byte(r.Uint32())
			}
			h = played(data)
		}
		n[sameOnline(t, h)]++
	}
	t.Logf("%v", n)
	if all := n[OutcomeOK] + n[Violated] + n[Unknown]; n[OutcomeOK] < all/10 || n[Violated] < all/10 || n[Unknown] > all/100 {
		t.Error("too few histories of one kind: the test proves little")
	}
}

// FuzzOnline compares too, on histories that the fuzzer makes up.
func FuzzOnline(f *testing.F) {
	r := rand.New(rand.NewPCG(14, 15))
	for n := range 20 {
		data := make([]byte, 1+3*n)
		for j := range data {
			data[j] = byte(r.Uint32())
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) { sameOnline(t, played(data)) })
}

// A violation is told when it happens, not at the end, and locks are judged by
// name.
func TestOnlineTellsAtOnce(t *testing.T) {
	h := story(t, leased(nil), `
		0  c1 acquire lease=1000
		2  c1 ok count=1
		10 c2 acquire lease=1000
		12 c2 ok count=1
		13 server n1 DEL by=c2
		20 c1 release
		21 c1 ok`)
	h.Events = slices.Insert(h.Events, 0, history.Event{Kind: history.Invoke, Op: 90, F: history.Acquire, Client: "client-9", Owner: "client-9/1", Lock: "price", Args: &history.Args{}})
	v, _, early := online(t, h)
	if v.Outcome != Violated || early != 6 || v.AtMS != 12 || !strings.HasPrefix(v.Reason, "lock stock: ") || !slices.Equal(v.Ops, []int64{2, 1}) {
		t.Errorf("after event %d: %+v", early, v)
	}
}

func TestOnlineChecksTheHistory(t *testing.T) {
	for name, do := range map[string]func(*history.History){
		"time goes back": func(h *history.History) { h.Events[3].Time = 1 },
		"id used twice":  func(h *history.History) { h.Events[3].Op = 1 },
		"cut off":        func(h *history.History) { h.Events = h.Events[:4] },
	} {
		t.Run(name, func(t *testing.T) {
			h := story(t, leased(nil), handover)
			do(h)
			_, want := Judge(h, Options{})
			o, err := NewOnline(h.Header)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range h.Events {
				if _, err = o.Add(e); err != nil {
					break
				}
			}
			if _, last := o.Close(); err == nil {
				err = last
			}
			var invalid *history.InvalidError
			if !errors.As(err, &invalid) || err.Error() != want.Error() {
				t.Errorf("got %v, want %v", err, want)
			}
		})
	}
	if _, err := NewOnline(history.Header{Format: "x"}); err == nil {
		t.Error("took a header of another format")
	}
}

// endless is a run of a correct lock, event by event. stuck is a client that
// waits for the lock from the start and never gets it, until end.
func endless(o *Online, sections int, stuck bool, tell func()) error {
	var err error
	add := func(e history.Event) {
		if err == nil {
			_, err = o.Add(e)
		}
	}
	id, now := int64(0), int64(0)
	op := func(client string, f history.Func) func(history.Kind, history.Result) {
		id++
		e := history.Event{Time: now, Kind: history.Invoke, Op: id, F: f, Client: client, Owner: client + "/1", Lock: "stock", Args: &history.Args{Lease: second}}
		add(e)
		return func(k history.Kind, r history.Result) {
			e.Time, e.Kind, e.Args, e.Result = now, k, nil, &r
			add(e)
		}
	}
	var wait func(history.Kind, history.Result)
	if stuck {
		wait = op("client-9", history.Acquire)
	}
	for i := range sections {
		client := fmt.Sprintf("client-%d", i%3)
		got := op(client, history.Acquire)
		now += millisecond
		got(history.OK, history.Result{Count: 1})
		busy := op(fmt.Sprintf("client-%d", (i+1)%3), history.Acquire)
		now += millisecond
		busy(history.Fail, history.Result{Error: history.ErrBusy})
		done := op(client, history.Release)
		now += millisecond
		done(history.OK, history.Result{})
		now += millisecond
		if i%1000 == 999 {
			tell()
		}
	}
	if stuck {
		wait(history.OK, history.Result{Count: 1})
	}
	add(history.Event{Time: now, Kind: history.End, End: &history.EndEvent{}})
	return err
}

// What Online keeps does not grow with the run, whatever stays open.
func TestOnlineKeepsLittle(t *testing.T) {
	for _, stuck := range []bool{false, true} {
		o, err := NewOnline(history.Header{Format: history.Format, Claims: history.Claims{Lease: true}})
		if err != nil {
			t.Fatal(err)
		}
		most := 0
		if err := endless(o, 20_000, stuck, func() { most = max(most, o.locks[0].stream.Behind()) }); err != nil {
			t.Fatal(err)
		}
		limit, want := 10, OutcomeOK
		if stuck {
			// It returned after it had been given up: ok would be too much.
			limit, want = maxBehind, Unknown
		}
		v, err := o.Close()
		if err != nil || v.Outcome != want {
			t.Errorf("stuck %t: %+v, %v", stuck, v, err)
		}
		if most > limit || len(o.open) > 0 {
			t.Errorf("stuck %t: kept %d operations, %d open", stuck, most, len(o.open))
		}
	}
}

// An acquire that was given up after very many others may have held the lock
// all that time, longer than a lease.
func TestOnlineGoesOnWithoutAnAcquireThatFails(t *testing.T) {
	h := &history.History{Header: history.Header{Format: history.Format, Claims: history.Claims{Lease: true}}}
	now, id := int64(0), int64(0)
	add := func(e history.Event) {
		e.Time, e.Lock, e.Owner = now, "stock", e.Client+"/1"
		h.Events = append(h.Events, e)
	}
	invoke := func(client string) func(history.Kind, history.Result) {
		id++
		e := history.Event{Kind: history.Invoke, Op: id, F: history.Acquire, Client: client, Args: &history.Args{Lease: second}}
		add(e)
		return func(k history.Kind, r history.Result) {
			e.Kind, e.Args, e.Result = k, nil, &r
			add(e)
		}
	}
	slow := invoke("client-1")
	for range maxBehind + 100 {
		now += millisecond
		busy := invoke("client-2")
		now += millisecond
		busy(history.Fail, history.Result{Error: history.ErrBusy})
	}
	slow(history.Fail, history.Result{Error: history.ErrCanceled})
	h.Events = append(h.Events, history.Event{Time: now, Kind: history.End, End: &history.EndEvent{}})

	r, err := Judge(h, Options{Judges: linear.FastOnly})
	if err != nil || r.Verdicts[Linearizable].Outcome == Violated {
		t.Fatalf("Judge: %+v, %v", r.Verdicts[Linearizable], err)
	}
	if _, v, _ := online(t, h); v.Outcome != Unknown {
		t.Errorf("Online: %+v, want %s", v, Unknown)
	}
}

func BenchmarkOnline(b *testing.B) {
	b.ReportAllocs()
	const sections = 100_000
	var peak uint64
	for b.Loop() {
		o, err := NewOnline(history.Header{Format: history.Format, Claims: history.Claims{Lease: true}})
		if err != nil {
			b.Fatal(err)
		}
		err = endless(o, sections, false, func() {
			var m runtime.MemStats
			if runtime.ReadMemStats(&m); m.HeapAlloc > peak {
				peak = m.HeapAlloc
			}
		})
		if v, last := o.Close(); err != nil || last != nil || v.Outcome != OutcomeOK {
			b.Fatal(v, err, last)
		}
	}
	b.ReportMetric(3*sections*float64(b.N)/b.Elapsed().Seconds(), "ops/s")
	b.ReportMetric(float64(peak)/(1<<20), "MB-heap")
}
