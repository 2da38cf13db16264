package checker

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// Owners that go on after lost replies are what makes a general search
// explode.
func TestLostReplies(t *testing.T) {
	for _, every := range []int{50, 10, 5, 3} {
		for _, lease := range []int64{forever, 200 * lms} {
			for _, lost := range []lossy{ownersStop, ownersGoOn} {
				for _, bad := range []bool{false, true} {
					ops := load{n: 2000, lease: lease, lost: lost, every: every, bad: bad}.ops()
					want := Good
					if bad {
						want = Violated
					}
					if v := fastRuling(ops, rules{}, 20*time.Second); v.outcome != want {
						t.Errorf("one in %d lost, lease %s, %s: want %s, got %+v", every, after(lease), lost, want, v)
					}
				}
			}
		}
	}
}

// The guess at what became of lost replies leaves the history as it was.
func TestJudgingChangesNothing(t *testing.T) {
	for _, bad := range []bool{false, true} {
		ops := load{n: 2000, lease: 200 * lms, lost: ownersGoOn, every: 5, bad: bad}.ops()
		before := slices.Clone(ops)
		fastRuling(ops, rules{}, time.Second)
		if !slices.Equal(ops, before) {
			t.Errorf("illegal %t: the operations have changed", bad)
		}
	}
}

// A search that would take too long ends, and says where it stood.
func TestSearchEndsUndecided(t *testing.T) {
	ops := load{n: 600, lease: 200 * lms, lost: ownersGoOn, every: 5, bad: true}.ops()
	v := bySearch(ops, rules{}, time.Millisecond)
	if v.outcome != Unknown || v.why == "" || len(v.ops) == 0 || len(v.ops) > maxCause {
		t.Errorf("got %+v", v)
	}
}

// The fast judge agrees with trying every order and every instant.
func TestFastJudgeAgainstEnumeration(t *testing.T) {
	r := rand.New(rand.NewPCG(10, 11))
	legal, n := 0, rounds(t, 6000)
	for i := range n {
		reentrant := i%2 == 0
		ops := randomOps(r, !reentrant || i%3 == 0, i%4 == 1)
		want := exhaustive(ops, reentrant, 40)
		got := fastRuling(ops, rules{reentrant: reentrant}, time.Minute)
		if want {
			legal++
		}
		if got.outcome == Unknown {
			t.Fatalf("undecided: %s%s", got.why, listing(ops))
		}
		// The model accepts any lease after a partial release.
		if (got.outcome == Good) != want && (want || !hasPartial(ops)) {
			few := smallest(ops, func(o []lockOp) bool {
				return (byFast(o, rules{reentrant: reentrant}, time.Minute) == Good) != exhaustive(o, reentrant, 40)
			})
			t.Fatalf("fast judge says %s, enumeration legal=%t, at first; of%s", got.outcome, want, listing(few))
		}
	}
	if legal < n/20 || legal > n*19/20 {
		t.Errorf("%d of %d histories were legal: the test proves little", legal, n)
	}
}

// Two holds that are certain at one same instant only may come in either
// order, and here only one of them explains the refusal.
func TestOrderOfOneInstant(t *testing.T) {
	ops := []lockOp{
		{id: 1, owner: 1, kind: gotLock, call: 3, ret: 5, asked: 3, lease: 2, count: 1},
		{id: 2, owner: 2, kind: gotLock, call: 3, ret: 5, asked: 3, lease: 2, count: 1},
		{id: 3, owner: 2, kind: foundBusy, call: 7, ret: 9, asked: 7, lease: 2},
	}
	if v := fastRuling(ops, rules{reentrant: true}, time.Minute); v.outcome != Good {
		t.Errorf("got %+v", v)
	}
}

// One unknown acquire explains the refusals of one gap, not of two, and one of
// a client that is gone only those after the last hold.
func TestGhostServesOneGap(t *testing.T) {
	history := func(crashed bool, ghosts ...int64) []lockOp {
		ops := []lockOp{
			{owner: 1, kind: foundBusy, call: 10, ret: 12},
			{owner: 1, kind: gotLock, call: 20, ret: 22, count: 1},
			{owner: 1, kind: gaveBack, call: 24, ret: 26},
			{owner: 2, kind: foundBusy, call: 30, ret: 32},
		}
		for i, call := range ghosts {
			ops = append(ops, lockOp{owner: int32(3 + i), kind: maybeGot, call: call, ret: forever, crashed: crashed})
		}
		for i := range ops {
			ops[i].id, ops[i].asked, ops[i].lease = int64(i+1), ops[i].call, forever
		}
		return ops
	}
	for _, c := range []struct {
		crashed bool
		ghosts  []int64
		want    Outcome
	}{
		{false, nil, Violated},
		{false, []int64{5}, Violated},
		{false, []int64{5, 6}, Good},
		{false, []int64{5, 31}, Good},
		{false, []int64{5, 33}, Violated},
		{false, []int64{13, 14}, Violated},
		{true, []int64{5, 6}, Violated},
	} {
		ops := history(c.crashed, c.ghosts...)
		if got := bySessions(ops, rules{}); got.outcome != c.want {
			t.Errorf("%+v: sessions say %+v", c, got)
		}
		if got := byPorcupine(ops, rules{}, time.Minute); got != c.want {
			t.Errorf("%+v: porcupine says %s", c, got)
		}
	}
}

// A failed acquire that held the lock for a while explains refusals before a
// hold or after it, not both: also when the later one begins at the instant at
// which the release of its own owner returns.
func TestGhostDoesNotSpanAHold(t *testing.T) {
	ops := []lockOp{
		{owner: 3, kind: tookAndGave, call: 1, ret: 30},
		{owner: 2, kind: foundBusy, call: 2, ret: 3},
		{owner: 1, kind: gotLock, count: 1, call: 10, ret: 11},
		{owner: 1, kind: gaveBack, call: 20, ret: 21},
		{owner: 1, kind: foundBusy, call: 21, ret: 22},
	}
	for i := range ops {
		ops[i].id, ops[i].asked, ops[i].lease = int64(i+1), ops[i].call, forever
	}
	agree(t, ops, rules{reentrant: true}, Violated)
	ops[1].call, ops[1].ret = 10, 12
	agree(t, ops, rules{reentrant: true}, Good)
}

// To guess that a nested acquire of unknown outcome happened allows nothing
// that the model does not: its owner may call the hold lost one lease of that
// acquire later in both, or in neither.
func TestNestedAcquireOfAShorterLease(t *testing.T) {
	history := func(nested int64) []lockOp {
		ops := []lockOp{
			{kind: gotLock, count: 1, call: 1, ret: 2, lease: 1000 * lms},
			{kind: maybeGot, call: 10 * lms, ret: forever, lease: nested},
			{kind: gotLock, count: 3, call: 20 * lms, ret: 21 * lms, lease: 1000 * lms},
			{kind: foundLost, call: 200 * lms, ret: 210 * lms, lease: forever},
		}
		for i := range ops {
			ops[i].id, ops[i].owner, ops[i].asked = int64(i+1), 1, ops[i].call
		}
		return ops
	}
	r := rules{reentrant: true, slack: 5 * lms}
	agree(t, history(100*lms), r, Good)
	agree(t, history(1000*lms), r, Violated)
}

// agree wants one verdict of the fast judge, its search alone and porcupine.
func agree(t *testing.T, ops []lockOp, r rules, want Outcome) {
	t.Helper()
	if v := fastRuling(ops, r, time.Minute); v.outcome != want {
		t.Errorf("want %s, the fast judge says %+v of%s", want, v, listing(ops))
	}
	if v := bySearch(ops, r, time.Minute); v.outcome != want {
		t.Errorf("want %s, the search says %+v of%s", want, v, listing(ops))
	}
	if p := byPorcupine(ops, r, time.Minute); p != want {
		t.Errorf("want %s, porcupine says %s of%s", want, p, listing(ops))
	}
}

// A failed acquire cannot have held the lock on both sides of an operation of
// its owner that shows it not to hold.
func TestGhostMindsItsOwner(t *testing.T) {
	ops := []lockOp{
		{owner: 2, kind: tookAndGave, call: 5, ret: 72},
		{owner: 3, kind: foundBusy, call: 9, ret: 19},
		{owner: 2, kind: heldNothing, call: 23, ret: 24},
		{owner: 3, kind: foundBusy, call: 37, ret: 104},
	}
	for i := range ops {
		ops[i].id, ops[i].asked, ops[i].lease = int64(i+1), ops[i].call, forever
	}
	for n, want := range map[int]Outcome{3: Good, 4: Violated} {
		if got := byPorcupine(ops[:n], rules{}, time.Minute); got != want {
			t.Errorf("the first %d: porcupine says %s", n, got)
		}
		if got := fastRuling(ops[:n], rules{}, time.Minute); got.outcome != want {
			t.Errorf("the first %d: the fast judge says %+v", n, got)
		}
	}
}
