package checker

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// streamed feeds a history to a stream as it would happen. peak is the most
// operations that the stream kept.
func streamed(ops []lockOp, r rules, leased bool) (v ruling, peak int) {
	type event struct {
		t  int64
		op int
	}
	var events []event
	for i := range ops {
		ret := ops[i].ret
		if ret >= forever {
			ret = ops[i].call + 5 // when the client gives up
		}
		events = append(events, event{ops[i].call, i}, event{ret, ^i})
	}
	slices.SortStableFunc(events, func(a, b event) int {
		if c := cmp.Compare(a.t, b.t); c != 0 {
			return c
		}
		if (a.op < 0) != (b.op < 0) {
			return cmp.Compare(b.op, a.op)
		}
		return 0
	})
	s := newStream(r, leased)
	entries := make([]*entry, len(ops))
	for _, e := range events {
		if e.op >= 0 {
			entries[e.op] = s.invoke(e.t)
		} else {
			s.finish(entries[^e.op], ops[^e.op], e.t)
		}
		peak = max(peak, len(s.pending)+len(s.returns))
	}
	s.close()
	return s.ruling(), peak
}

func timed(ops []lockOp) bool {
	return slices.ContainsFunc(ops, func(o lockOp) bool {
		return o.kind == tookAndGave || (o.kind == gotLock || o.kind == maybeGot) && o.lease < forever
	})
}

// A stream comes to the same end as the search that sees everything at once.
func TestStreamAgainstSearch(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 9))
	bad, undecided := 0, 0
	for range rounds(t, 10_000) {
		m := randomMix(r)
		ops := simulated(r, m, 1+r.IntN(5), 1+r.IntN(6), r.IntN(3))
		slices.SortStableFunc(ops, byCall)
		want := bySearch(ops, m.rules(), time.Minute)
		got, _ := streamed(ops, m.rules(), timed(ops))
		if got.outcome == Unknown && want.outcome == Violated {
			undecided++ // the search may begin anew with more room
			continue
		}
		if got.outcome != want.outcome {
			t.Fatalf("stream says %s, search %s%s", got.outcome, want.outcome, listing(ops))
		}
		if want.outcome == Violated {
			bad++
		}
	}
	t.Logf("%d illegal, %d undecided", bad, undecided)
	if undecided > bad/50 {
		t.Error("too many are undecided")
	}
}

// What a stream keeps does not grow with the run.
func TestStreamKeepsLittle(t *testing.T) {
	for _, n := range []int{2_000, 20_000} {
		v, peak := streamed(busyLock(n, forever, false), rules{}, false)
		if v.outcome != Good || peak > 100 {
			t.Errorf("%d operations: %s, kept %d", n, v.outcome, peak)
		}
	}
}
