package linear

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// streamed feeds a history to a stream as it would happen. peak is the most
// operations that the stream kept.
func streamed(ops []Op, r Rules, leased bool) (v Ruling, peak int) {
	type event struct {
		t  int64
		op int
	}
	var events []event
	for i := range ops {
		ret := ops[i].Return
		if ret >= Forever {
			ret = ops[i].Call + 5 // when the client gives up
		}
		events = append(events, event{ops[i].Call, i}, event{ret, ^i})
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
	s := NewStream(r, leased)
	entries := make([]*Entry, len(ops))
	for _, e := range events {
		if e.op >= 0 {
			entries[e.op] = s.Invoke(e.t)
		} else {
			s.Finish(entries[^e.op], ops[^e.op], e.t)
		}
		peak = max(peak, len(s.pending)+len(s.returns))
	}
	s.Close()
	return s.Ruling(), peak
}

func timed(ops []Op) bool {
	return slices.ContainsFunc(ops, func(o Op) bool {
		return o.Kind == TookAndGave || (o.Kind == GotLock || o.Kind == MaybeGot) && o.Lease < Forever
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
		want := Search(ops, m.rules(), time.Minute)
		got, _ := streamed(ops, m.rules(), timed(ops))
		if got.Outcome == Unknown && want.Outcome == Violated {
			undecided++ // the search may begin anew with more room
			continue
		}
		if got.Outcome != want.Outcome {
			t.Fatalf("stream says %s, search %s%s", got.Outcome, want.Outcome, listing(ops))
		}
		if want.Outcome == Violated {
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
		v, peak := streamed(busyLock(n, Forever, false), Rules{}, false)
		if v.Outcome != OutcomeOK || peak > 100 {
			t.Errorf("%d operations: %s, kept %d", n, v.Outcome, peak)
		}
	}
}
