package linear

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// roomHistory is a history of a lock with a capacity: what a right one would answer, with
// some changes. Times are small, so that many meet.
func roomHistory(r *rand.Rand, capacity int32, leases, unclear bool) []Op {
	type owner struct {
		free   int64 // when it may ask next
		holds  bool
		weight int32 // of each of its holds
	}
	var ops []Op
	owners := make([]owner, 2+r.IntN(4))
	both := r.IntN(3) == 0 // the first two are one owner, as a reader and as a writer
	if both {
		owners[0].weight, owners[1].weight = 1, capacity
	}
	for range 2 + r.IntN(9) {
		i := r.IntN(len(owners))
		w := &owners[i]
		call := w.free + r.Int64N(4)
		o := Op{ID: int64(len(ops) + 1), Owner: int32(i + 1), Call: call, Return: call + r.Int64N(6), Asked: call, Lease: Forever, Weight: 1}
		w.free = o.Return + 1
		if w.weight == 0 {
			w.weight = max(1, r.Int32N(2*capacity)-capacity+1)
		}
		o.Weight = w.weight
		if both && i < 2 {
			o.Other = int32(2 - i)
		}
		if leases && r.IntN(2) == 0 {
			o.Lease = 1 + r.Int64N(8)
		}
		if leases && r.IntN(8) == 0 {
			o.MayEnd = call + 1 + r.Int64N(8)
		}
		o.Renewed = leases && r.IntN(12) == 0
		switch {
		case w.holds && r.IntN(8) > 0:
			o.Kind, w.holds = GaveBack, false
		case r.IntN(3) == 0:
			o.Kind = FoundBusy
		default:
			o.Kind, w.holds = GotLock, true
		}
		if unclear && r.IntN(6) == 0 {
			switch o.Kind {
			case GotLock, FoundBusy:
				o.Kind = []Kind{MaybeGot, TookAndGave}[r.IntN(2)]
				w.holds = false
				if o.Kind == MaybeGot {
					o.Return, o.Crashed = Forever, r.IntN(3) > 0
				}
			case GaveBack:
				o.Kind = []Kind{MaybeGave, HeldNothing, FoundLost}[r.IntN(3)]
				if o.Kind == MaybeGave {
					o.Return = Forever
				}
			}
		}
		ops = append(ops, o)
	}
	slices.SortStableFunc(ops, byCall)
	return ops
}

// Both judges of a lock with room for several decide alike, on legal and illegal
// histories. Without leases an enumeration of all orders decides as they do; with leases
// it allows no history that they forbid.
func TestRoomJudgesAgree(t *testing.T) {
	var legal, illegal, undecided, enumerated int
	for seed := range rounds(t, 6000) {
		r := rand.New(rand.NewPCG(uint64(seed), 39))
		capacity := int32(2 + r.IntN(3))
		leases, unclear := r.IntN(2) == 0, r.IntN(2) == 0
		ops := roomHistory(r, capacity, leases, unclear)
		rules := Rules{Capacity: capacity}
		fast := byRooms(ops, rules, time.Second)
		slow := Porcupine(ops, rules, time.Second)
		switch {
		case fast.Outcome == Unknown || slow == Unknown:
			undecided++
		case fast.Outcome != slow:
			t.Fatalf("seed %d: the search says %s and porcupine %s, with room for %d:\n%s", seed, fast.Outcome, slow, capacity, listing(ops))
		case slow == OutcomeOK:
			legal++
		default:
			illegal++
		}
		if early := slices.ContainsFunc(ops, func(o Op) bool { return o.MayEnd > 0 }); len(ops) > 7 || early && len(ops) > 5 {
			continue
		}
		enumerated++
		possible := anyOrder(ops, rules)
		if possible && slow == Violated {
			t.Fatalf("seed %d: an order exists, and the judges find none, with room for %d:\n%s", seed, capacity, listing(ops))
		}
		if exact := !leases && !unclear; exact && !possible && slow == OutcomeOK {
			t.Fatalf("seed %d: no order exists, and the judges find one, with room for %d:\n%s", seed, capacity, listing(ops))
		}
	}
	t.Logf("%d legal, %d illegal, %d undecided; %d enumerated", legal, illegal, undecided, enumerated)
	if illegal < (legal+illegal)/5 || legal < illegal/5 || undecided > (legal+illegal)/100 || enumerated == 0 {
		t.Errorf("the histories prove little: %d legal, %d illegal, %d undecided, %d enumerated", legal, illegal, undecided, enumerated)
	}
}

// anyOrder tries every order and, to whole numbers, every instant. A hold ends at its
// release, or by itself when its lease is over.
func anyOrder(ops []Op, r Rules) bool {
	type held struct {
		owner, weight int32
		end, mayEnd   int64
	}
	var try func(left []Op, now int64, in []held) bool
	try = func(left []Op, now int64, in []held) bool {
		if len(left) == 0 {
			return true
		}
		latest := Forever // everything before this return comes first
		for _, o := range left {
			latest = min(latest, o.Return)
		}
		for i, o := range left {
			if o.Call > latest {
				continue
			}
			rest := slices.Delete(slices.Clone(left), i, i+1)
			if o.Return >= Forever && (o.Kind == MaybeGot || o.Kind == MaybeGave) && try(rest, now, in) {
				return true // it had no effect
			}
			if o.Kind == TookAndGave && try(rest, max(now, o.Call), in) {
				return true
			}
			for at := max(now, o.Call); at <= min(o.Return, 60); at++ {
				live := slices.DeleteFunc(slices.Clone(in), func(h held) bool { return h.end <= at })
				sum := o.Weight
				for _, h := range live {
					if o.Other == 0 || h.owner != o.Other {
						sum += h.weight
					}
				}
				for k, h := range live { // where an early end helps
					helps := o.Kind == HeldNothing || o.Kind == FoundLost || o.Kind != FoundBusy && sum > r.Capacity
					if helps && h.mayEnd > 0 && h.mayEnd <= at && try(left, at, slices.Delete(slices.Clone(live), k, k+1)) {
						return true
					}
				}
				own := slices.IndexFunc(live, func(h held) bool { return h.owner == o.Owner })
				switch o.Kind {
				case GotLock, MaybeGot:
					if sum <= r.Capacity && try(rest, at, append(live, held{o.Owner, o.Weight, add(at, o.Lease), o.MayEnd})) {
						return true
					}
				case FoundBusy:
					if sum > r.Capacity && try(rest, at, live) {
						return true
					}
				case GaveBack, MaybeGave:
					if own >= 0 && try(rest, at, slices.Delete(slices.Clone(live), own, own+1)) {
						return true
					}
				case HeldNothing, FoundLost:
					if own < 0 && try(rest, at, live) {
						return true
					}
				}
			}
		}
		return false
	}
	return try(ops, 0, nil)
}

// The core of a hold is from the return of its acquire to the call of its release. If
// there are no leases and no refusals, the weights of cores never exceed the capacity.
func TestRoomJudgesAgreeWithTheRuleOfCores(t *testing.T) {
	over, all := 0, rounds(t, 3000)
	for seed := range all {
		r := rand.New(rand.NewPCG(uint64(seed), 40))
		capacity := int32(2 + r.IntN(2))
		var ops []Op
		type core struct {
			from, to int64
			weight   int32
		}
		var cores []core
		for owner := range int32(3 + r.IntN(3)) {
			now := r.Int64N(8)
			for range 1 + r.IntN(2) {
				weight := int32(1)
				if r.IntN(4) == 0 {
					weight = 1 + r.Int32N(capacity)
				}
				get := Op{ID: int64(len(ops) + 1), Owner: owner + 1, Kind: GotLock, Call: now, Return: now + 1 + r.Int64N(6), Lease: Forever, Weight: weight}
				give := Op{ID: get.ID + 1, Owner: owner + 1, Kind: GaveBack, Call: get.Return + 1 + r.Int64N(3)}
				give.Return = give.Call + 1 + r.Int64N(4)
				ops, cores = append(ops, get, give), append(cores, core{get.Return, give.Call, weight})
				now = give.Return + 1 + r.Int64N(6)
			}
		}
		slices.SortStableFunc(ops, byCall)
		want := OutcomeOK
		for _, c := range cores {
			sum := int32(0)
			for _, d := range cores {
				if d.from <= c.from && d.to > c.from {
					sum += d.weight
				}
			}
			if sum > capacity {
				want = Violated
			}
		}
		if want == Violated {
			over++
		}
		rules := Rules{Capacity: capacity}
		if got := followRooms(ops, rules, false, time.Now().Add(time.Second)); got.Outcome != want {
			t.Fatalf("seed %d: by the cores %s, and the search says %s, with room for %d:\n%s", seed, want, got.Outcome, capacity, listing(ops))
		}
		if got := tooManyCores(ops, rules); (got.Outcome == Violated) != (want == Violated) {
			t.Fatalf("seed %d: by the cores %s, and the judge says %s, with room for %d:\n%s", seed, want, got.Outcome, capacity, listing(ops))
		}
	}
	if over < all/10 {
		t.Errorf("only %d histories have too many in the room", over)
	}
}

// Acquires and releases of unknown outcome help nothing here, so the search must not try
// them in all orders.
func TestRooms_manyUnknownOutcomes(t *testing.T) {
	var ops []Op
	put := func(owner int, kind Kind, call, ret int64) {
		ops = append(ops, Op{ID: int64(len(ops) + 1), Owner: int32(owner), Kind: kind, Call: call, Asked: call, Return: ret, Lease: 1000, Weight: 1, Crashed: kind == MaybeGot && owner%2 == 0})
	}
	for i := range 12 {
		put(i+1, []Kind{MaybeGot, MaybeGave}[i%2], int64(i), Forever)
	}
	for round := range int64(4) {
		for i := range 3 {
			put(20+i, GotLock, 100*round+20, 100*round+30)
			put(20+i, GaveBack, 100*round+50, 100*round+60)
		}
	}
	if v := followRooms(ops, Rules{Capacity: 3}, false, time.Now().Add(time.Minute)); v.Outcome != OutcomeOK {
		t.Errorf("a legal history is %s: %s", v.Outcome, v.Why)
	}
}

// The hold of a dead client may end early for the reasons that end any other hold.
func TestRooms_aFaultEndsTheHoldOfTheDead(t *testing.T) {
	ops := []Op{
		{ID: 1, Owner: 1, Kind: MaybeGot, Call: 0, Return: Forever, Lease: 100, Weight: 1, MayEnd: 20, Crashed: true},
		{ID: 2, Owner: 2, Kind: GotLock, Call: 1, Return: 3, Lease: 100, Weight: 1},
		{ID: 3, Owner: 3, Kind: FoundBusy, Call: 5, Return: 10, Lease: 100, Weight: 1},
		{ID: 4, Owner: 3, Kind: GotLock, Call: 30, Return: 33, Lease: 100, Weight: 1},
	}
	for _, may := range []int64{20, 0} {
		ops[0].MayEnd = may
		want := OutcomeOK
		if may == 0 {
			want = Violated
		}
		if v := byRooms(ops, Rules{Capacity: 2}, time.Minute); v.Outcome != want {
			t.Errorf("with an end from %d on the history is %s, want %s: %s", may, v.Outcome, want, v.Why)
		}
	}
}
