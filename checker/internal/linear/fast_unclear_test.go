package linear

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// Owners that go on after lost replies make a general search explode.
func TestLostReplies(t *testing.T) {
	for _, every := range []int{50, 10, 5, 3} {
		for _, lease := range []int64{Forever, 200 * millisecond} {
			for _, lost := range []lossy{ownersStop, ownersGoOn} {
				for _, bad := range []bool{false, true} {
					ops := load{n: 2000, lease: lease, lost: lost, every: every, bad: bad}.ops()
					want := OutcomeOK
					if bad {
						want = Violated
					}
					if v := Fast(ops, Rules{}, 20*time.Second); v.Outcome != want {
						t.Errorf("one in %d lost, lease %s, %s: want %s, got %+v", every, after(lease), lost, want, v)
					}
				}
			}
		}
	}
}

// Owners that go on as if they held nothing, and clean up later or never, leave
// more situations than anyone can keep. A right lock is found right all the same.
func TestOwnersTryAgain(t *testing.T) {
	for _, lease := range []int64{Forever, 200 * millisecond} {
		ops := load{n: 2000, lease: lease, lost: ownersTry}.ops()
		if v := byReplies(ops, Rules{}); v.Outcome != Unknown {
			t.Errorf("lease %s: the replies alone say %+v: the test proves little", after(lease), v)
		}
		if v := Fast(ops, Rules{}, time.Minute); v.Outcome != OutcomeOK {
			t.Errorf("lease %s: got %+v", after(lease), v)
		}
		ops = load{n: 2000, lease: lease, lost: ownersTry, bad: true}.ops()
		if v := Fast(ops, Rules{}, time.Minute); v.Outcome != Violated {
			t.Errorf("lease %s, one reply wrong: got %+v", after(lease), v)
		}
	}
}

// The guess at what became of lost replies leaves the history as it was.
func TestJudgingChangesNothing(t *testing.T) {
	for _, bad := range []bool{false, true} {
		ops := load{n: 2000, lease: 200 * millisecond, lost: ownersGoOn, every: 5, bad: bad}.ops()
		before := slices.Clone(ops)
		Fast(ops, Rules{}, time.Second)
		if !slices.Equal(ops, before) {
			t.Errorf("illegal %t: the operations have changed", bad)
		}
	}
}

// A search that would take too long ends, and says where it stood.
func TestSearchEndsUndecided(t *testing.T) {
	ops := load{n: 600, lease: 200 * millisecond, lost: ownersGoOn, every: 5, bad: true}.ops()
	v := Search(ops, Rules{}, time.Millisecond)
	if v.Outcome != Unknown || v.Why == "" || len(v.Ops) == 0 || len(v.Ops) > MaxCause {
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
		got := Fast(ops, Rules{Reentrant: reentrant}, time.Minute)
		if want {
			legal++
		}
		if got.Outcome == Unknown {
			t.Fatalf("undecided: %s%s", got.Why, listing(ops))
		}
		// The model accepts any lease after a partial release.
		if (got.Outcome == OutcomeOK) != want && (want || !hasPartial(ops)) {
			few := smallest(ops, func(o []Op) bool {
				return (byFast(o, Rules{Reentrant: reentrant}, time.Minute) == OutcomeOK) != exhaustive(o, reentrant, 40)
			})
			t.Fatalf("fast judge says %s, enumeration legal=%t, at first; of%s", got.Outcome, want, listing(few))
		}
	}
	if legal < n/20 || legal > n*19/20 {
		t.Errorf("%d of %d histories were legal: the test proves little", legal, n)
	}
}

// Two holds that are certain at one same instant only may come in either
// order, and here only one of them explains the refusal.
func TestOrderOfOneInstant(t *testing.T) {
	ops := []Op{
		{ID: 1, Owner: 1, Kind: GotLock, Call: 3, Return: 5, Asked: 3, Lease: 2, Count: 1},
		{ID: 2, Owner: 2, Kind: GotLock, Call: 3, Return: 5, Asked: 3, Lease: 2, Count: 1},
		{ID: 3, Owner: 2, Kind: FoundBusy, Call: 7, Return: 9, Asked: 7, Lease: 2},
	}
	if v := Fast(ops, Rules{Reentrant: true}, time.Minute); v.Outcome != OutcomeOK {
		t.Errorf("got %+v", v)
	}
}

// One unknown acquire explains the refusals of one gap, not of two. One of a client that
// is gone explains only those after the last hold.
func TestPhantomServesOneGap(t *testing.T) {
	history := func(crashed bool, phantoms ...int64) []Op {
		ops := []Op{
			{Owner: 1, Kind: FoundBusy, Call: 10, Return: 12},
			{Owner: 1, Kind: GotLock, Call: 20, Return: 22, Count: 1},
			{Owner: 1, Kind: GaveBack, Call: 24, Return: 26},
			{Owner: 2, Kind: FoundBusy, Call: 30, Return: 32},
		}
		for i, call := range phantoms {
			ops = append(ops, Op{Owner: int32(3 + i), Kind: MaybeGot, Call: call, Return: Forever, Crashed: crashed})
		}
		for i := range ops {
			ops[i].ID, ops[i].Asked, ops[i].Lease = int64(i+1), ops[i].Call, Forever
		}
		return ops
	}
	for _, c := range []struct {
		crashed  bool
		phantoms []int64
		want     Outcome
	}{
		{false, nil, Violated},
		{false, []int64{5}, Violated},
		{false, []int64{5, 6}, OutcomeOK},
		{false, []int64{5, 31}, OutcomeOK},
		{false, []int64{5, 33}, Violated},
		{false, []int64{13, 14}, Violated},
		{true, []int64{5, 6}, Violated},
	} {
		ops := history(c.crashed, c.phantoms...)
		if got := bySessions(ops, Rules{}); got.Outcome != c.want {
			t.Errorf("%+v: sessions say %+v", c, got)
		}
		if got := Porcupine(ops, Rules{}, time.Minute); got != c.want {
			t.Errorf("%+v: porcupine says %s", c, got)
		}
	}
}

// A failed acquire that held the lock for a while explains refusals before a hold or
// after it, not both. That is so, too, when the later one begins at the instant at which
// the release of its own owner returns.
func TestPhantomDoesNotSpanAHold(t *testing.T) {
	ops := []Op{
		{Owner: 3, Kind: TookAndGave, Call: 1, Return: 30},
		{Owner: 2, Kind: FoundBusy, Call: 2, Return: 3},
		{Owner: 1, Kind: GotLock, Count: 1, Call: 10, Return: 11},
		{Owner: 1, Kind: GaveBack, Call: 20, Return: 21},
		{Owner: 1, Kind: FoundBusy, Call: 21, Return: 22},
	}
	for i := range ops {
		ops[i].ID, ops[i].Asked, ops[i].Lease = int64(i+1), ops[i].Call, Forever
	}
	agree(t, ops, Rules{Reentrant: true}, Violated)
	ops[1].Call, ops[1].Return = 10, 12
	agree(t, ops, Rules{Reentrant: true}, OutcomeOK)
}

// To guess that a nested acquire of unknown outcome happened allows nothing that the
// model does not. Its owner may call the hold lost one lease of that acquire later in
// both, or in neither.
func TestNestedAcquireOfAShorterLease(t *testing.T) {
	history := func(nested int64) []Op {
		ops := []Op{
			{Kind: GotLock, Count: 1, Call: 1, Return: 2, Lease: 1000 * millisecond},
			{Kind: MaybeGot, Call: 10 * millisecond, Return: Forever, Lease: nested},
			{Kind: GotLock, Count: 3, Call: 20 * millisecond, Return: 21 * millisecond, Lease: 1000 * millisecond},
			{Kind: FoundLost, Call: 200 * millisecond, Return: 210 * millisecond, Lease: Forever},
		}
		for i := range ops {
			ops[i].ID, ops[i].Owner, ops[i].Asked = int64(i+1), 1, ops[i].Call
		}
		return ops
	}
	r := Rules{Reentrant: true, Slack: 5 * millisecond}
	agree(t, history(100*millisecond), r, OutcomeOK)
	agree(t, history(1000*millisecond), r, Violated)
}

// agree wants one verdict of the fast judge, its search alone and porcupine.
func agree(t *testing.T, ops []Op, r Rules, want Outcome) {
	t.Helper()
	if v := Fast(ops, r, time.Minute); v.Outcome != want {
		t.Errorf("want %s, the fast judge says %+v of%s", want, v, listing(ops))
	}
	if v := Search(ops, r, time.Minute); v.Outcome != want {
		t.Errorf("want %s, the search says %+v of%s", want, v, listing(ops))
	}
	if p := Porcupine(ops, r, time.Minute); p != want {
		t.Errorf("want %s, porcupine says %s of%s", want, p, listing(ops))
	}
}

// A failed acquire cannot have held the lock on both sides of an operation of
// its owner that shows it not to hold.
func TestPhantomMindsItsOwner(t *testing.T) {
	ops := []Op{
		{Owner: 2, Kind: TookAndGave, Call: 5, Return: 72},
		{Owner: 3, Kind: FoundBusy, Call: 9, Return: 19},
		{Owner: 2, Kind: HeldNothing, Call: 23, Return: 24},
		{Owner: 3, Kind: FoundBusy, Call: 37, Return: 104},
	}
	for i := range ops {
		ops[i].ID, ops[i].Asked, ops[i].Lease = int64(i+1), ops[i].Call, Forever
	}
	for n, want := range map[int]Outcome{3: OutcomeOK, 4: Violated} {
		if got := Porcupine(ops[:n], Rules{}, time.Minute); got != want {
			t.Errorf("the first %d: porcupine says %s", n, got)
		}
		if got := Fast(ops[:n], Rules{}, time.Minute); got.Outcome != want {
			t.Errorf("the first %d: the fast judge says %+v", n, got)
		}
	}
}
