package checker

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/checker/internal/linear"
)

// Whatever Decode accepts encodes to something it accepts again, and Judge
// either judges it or calls it invalid; nothing panics.
func FuzzDecode(f *testing.F) {
	h := story(f, leased(nil), handover)
	var b bytes.Buffer
	if err := h.Encode(&b); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add([]byte("{}\n"))
	for _, c := range corpus(f) {
		f.Add(c.text)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := history.Decode(bytes.NewReader(data))
		var invalid *history.InvalidError
		if err != nil {
			if !errors.As(err, &invalid) {
				t.Fatalf("not an InvalidError: %v", err)
			}
			return
		}
		again, err := history.Decode(strings.NewReader(encoded(t, h)))
		if err != nil {
			t.Fatalf("cannot read back: %v", err)
		}
		if again.Hash() != h.Hash() {
			t.Fatal("hash changed on the way")
		}
		if _, err := Judge(h, Options{Budget: 50 * time.Millisecond}); err != nil && !errors.As(err, &invalid) {
			t.Fatalf("not an InvalidError: %v", err)
		}
		Beliefs(h)
	})
}

// noise is a random history that is mostly valid.
func noise(r *rand.Rand) *history.History {
	h := &history.History{Header: history.Header{Format: history.Format, Claims: history.Terms{
		Claims:     history.Claims{Reentrant: r.IntN(2) == 0, Lease: r.IntN(2) == 0, Renewal: true, Fencing: true, Fairness: true},
		RenewEvery: 300 * millisecond, Handoff: second, Nodes: 1 + r.IntN(3),
	}, Resource: &history.Resource{Initial: 5, Fenced: r.IntN(2) == 0}}}
	open := map[string]*history.Event{}
	dead := map[string]bool{}
	classes := []string{history.ErrBusy, history.ErrNotHeld, history.ErrLost, history.ErrUnknown, history.ErrCanceled, history.ErrAcks, history.ErrOther}
	holders := []string{"", "client-1/1", "client-2/1", "locked"}
	var now, id int64
	for range 30 + r.IntN(60) {
		now += r.Int64N(400 * millisecond)
		client := fmt.Sprintf("client-%d", 1+r.IntN(3))
		owner := client + "/1"
		e := history.Event{Time: now, Client: client, Owner: owner, Lock: "stock"}
		switch n := r.IntN(20); {
		case n == 0:
			e = history.Event{Time: now, Kind: history.Fault, Fault: &history.FaultEvent{ID: r.IntN(3), Name: []string{"pause", "failover", "clock-jump"}[r.IntN(3)],
				Phase: []string{history.PhaseStart, history.PhaseEnd, history.PhaseFailed}[r.IntN(3)], Targets: []string{client, "node-1"}[:r.IntN(3)]}}
		case n <= 6:
			s := &history.ServerEvent{Node: []string{"node-1", "node-2", "node-1-replica-1"}[r.IntN(3)], Role: []string{"primary", "replica"}[r.IntN(2)],
				Key: "stock", Cause: []string{"command", "expiry", "replication"}[r.IntN(3)], By: client,
				Holder: holders[r.IntN(4)], WasHolder: holders[r.IntN(4)], Count: r.IntN(3), WasCount: r.IntN(3),
				TTL: r.Int64N(2*second) - 1, WasTTL: r.Int64N(2*second) - 1}
			e = history.Event{Time: now, Kind: history.Server, Lock: "stock", Server: s}
		case dead[client]:
			continue
		case n == 7:
			e.Kind, e.F = history.Note, []history.Func{history.Lost, history.Lost, history.Panic, history.Crashed}[r.IntN(4)]
			dead[client] = e.F == history.Crashed
		case open[owner] != nil:
			e.Kind, e.Op, e.F = []history.Kind{history.OK, history.OK, history.Fail, history.Info}[r.IntN(4)], open[owner].Op, open[owner].F
			e.Result = &history.Result{Count: r.IntN(3), Token: uint64(r.IntN(4)), Value: int64(r.IntN(3))}
			if e.Kind != history.OK {
				e.Result.Error = classes[r.IntN(len(classes))]
			}
			open[owner] = nil
		default:
			id++
			e.Kind, e.Op, e.F = history.Invoke, id, []history.Func{history.Acquire, history.Release, history.Read, history.Write, history.Inspect}[r.IntN(5)]
			e.Args = &history.Args{Lease: r.Int64N(2) * second, Wait: r.Int64N(3) - 1, Renewed: r.IntN(2) == 0, Token: uint64(r.IntN(4))}
			open[owner] = &e
		}
		h.Events = append(h.Events, e)
	}
	h.Events = append(h.Events, history.Event{Time: now, Kind: history.End, End: &history.EndEvent{}})
	planned(h)
	return h
}

// Judge never panics, says the same twice, and every violation has a reason.
func TestJudgeOnNoise(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	valid := 0
	for range 2000 {
		h := noise(r)
		a, err := Judge(h, Options{Budget: 200 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		valid++
		b, _ := Judge(h, Options{Budget: 200 * time.Millisecond})
		for p, v := range a.Verdicts {
			if v.Outcome != OutcomeOK && v.Reason == "" || len(v.Ops) > linear.MaxCause || strings.Contains(v.Reason, "%!") || strings.ContainsAny(v.Reason, "\n") {
				t.Fatalf("%s: bad verdict %+v", p, v)
			}
			if w := b.Verdicts[p]; p != Linearizable && fmt.Sprint(v) != fmt.Sprint(w) {
				t.Fatalf("%s: %+v, then %+v", p, v, w)
			}
		}
	}
	t.Logf("%d valid histories", valid)
}

// contention is a history of a correct lock under load.
func contention(tb testing.TB, clients, sections int) *history.History {
	var b strings.Builder
	now := 0
	for i := range sections {
		c := i%clients + 1
		fmt.Fprintf(&b, "%d c%d acquire lease=1000 wait=500\n%d server n1 SET by=c%d holder=c%d ttl=1000\n%d c%d ok count=1\n", now, c, now+1, c, c, now+2, c)
		o := c%clients + 1
		fmt.Fprintf(&b, "%d c%d acquire lease=1000\n%d c%d fail err=busy\n", now+3, o, now+4, o)
		fmt.Fprintf(&b, "%d c%d release\n%d server n1 DEL by=c%d\n%d c%d ok\n", now+5, c, now+6, c, now+7, c)
		now += 10
	}
	return story(tb, leased(nil), b.String())
}

func TestContentionIsFine(t *testing.T) {
	r, err := Judge(contention(t, 5, 70), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for p, v := range r.Verdicts {
		if v.Outcome != OutcomeOK {
			t.Errorf("%s: %+v", p, v)
		}
	}
}

func BenchmarkJudge(b *testing.B) {
	h := contention(b, 5, 333) // 5 clients, 200 operations each
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Judge(h, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
