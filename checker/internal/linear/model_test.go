package linear

import (
	"math/rand/v2"
	"testing"
	"time"
)

// exhaustive decides the same question by trying every order and every
// integer instant. With integer bounds, difference constraints that have a
// solution have an integer one.
func exhaustive(ops []Op, reentrant bool, horizon int64) bool {
	type state struct {
		holder, count int32
		end           int64
	}
	done := make([]bool, len(ops))
	var try func(s state, now int64, left int) bool
	try = func(s state, now int64, left int) bool {
		if left == 0 {
			return true
		}
		for i := range ops {
			o := &ops[i]
			if done[i] {
				continue
			}
			for at := max(now, o.Call); at <= min(o.Return, horizon); at++ {
				var starts []state
				if s.holder == 0 || at >= s.end {
					starts = append(starts, state{})
				}
				if s.holder != 0 && at <= s.end {
					starts = append(starts, s)
				}
				for _, b := range starts {
					own := b.holder == o.Owner
					n := b
					ok := false
					switch o.Kind {
					case GotLock, MaybeGot:
						switch {
						case b.holder == 0 && (o.Kind == MaybeGot || o.Count == 1):
							n, ok = state{o.Owner, 1, at + o.Lease}, true
						case own && reentrant && (o.Kind == MaybeGot || o.Count == b.count+1):
							n, ok = state{o.Owner, b.count + 1, max(b.end, at+o.Lease)}, true
						default:
							ok = o.Kind == MaybeGot
						}
					case FoundBusy:
						ok = b.holder != 0 && (!own || !reentrant)
					case GaveBack:
						if ok = own && o.Count == b.count-1; ok {
							n.count--
							if n.count == 0 {
								n = state{}
							}
						}
					case HeldNothing:
						ok = !own
					case MaybeGave:
						ok = true
						if own {
							if n.count--; n.count == 0 {
								n = state{}
							}
						}
					}
					if ok {
						done[i] = true
						if try(n, at, left-1) {
							done[i] = false
							return true
						}
						done[i] = false
					}
				}
			}
		}
		return false
	}
	return try(state{}, 0, len(ops))
}

// randomOps makes a small history of owners that do one thing after the other.
// flat leaves out nested holds, and pending makes some last operations of an
// owner unclear.
func randomOps(r *rand.Rand, flat, pending bool) []Op {
	var ops []Op
	for owner := int32(1); owner <= 2+r.Int32N(2); owner++ {
		now := int64(r.IntN(5))
		for n := 1 + r.IntN(3); n > 0 && len(ops) < 5; n-- {
			o := Op{Owner: owner, Call: now + int64(r.IntN(2)), Lease: int64(2 + r.IntN(4))}
			o.Return = o.Call + int64(r.IntN(4))
			now = o.Return + 1
			switch o.Kind = []Kind{GotLock, GotLock, FoundBusy, GaveBack, GaveBack, HeldNothing}[r.IntN(6)]; o.Kind {
			case GotLock:
				o.Count = 1
				if !flat && r.IntN(4) == 0 {
					o.Count = 2
				}
			case GaveBack:
				if !flat && r.IntN(4) == 0 {
					o.Count = 1
				}
			}
			if pending && n == 1 && r.IntN(3) == 0 {
				o.Kind, o.Return, o.Crashed = []Kind{MaybeGot, MaybeGave}[r.IntN(2)], Forever, true
			}
			o.ID, o.Asked = int64(len(ops)+1), o.Call
			ops = append(ops, o)
		}
	}
	return ops
}

// The model agrees with exhaustive enumeration in both directions: nothing
// legal is called illegal, nothing illegal legal.
func TestModelAgainstEnumeration(t *testing.T) {
	rounds := 6000
	if testing.Short() {
		rounds = 500
	}
	r := rand.New(rand.NewPCG(1, 2))
	legal := 0
	for i := range rounds {
		reentrant := i%2 == 0
		ops := randomOps(r, !reentrant || i%3 == 0, i%4 == 1)
		want := exhaustive(ops, reentrant, 40)
		got := Porcupine(ops, Rules{Reentrant: reentrant}, time.Minute)
		if want {
			legal++
		}
		if (got == OutcomeOK) == want {
			continue
		}
		// A partial release may set the lease of what remains anew; the model
		// accepts what the enumeration, which keeps the lease, does not.
		if got == OutcomeOK && hasPartial(ops) {
			continue
		}
		for _, o := range ops {
			t.Logf("%d [%d,%d] kind %d lease %d count %d", o.Owner, o.Call, o.Return, o.Kind, o.Lease, o.Count)
		}
		t.Fatalf("round %d, reentrant %t: got %s, enumeration says legal=%t", i, reentrant, got, want)
	}
	if legal < rounds/20 || legal > rounds*19/20 {
		t.Errorf("%d of %d histories were legal: the test proves little", legal, rounds)
	}
}

func hasPartial(ops []Op) bool {
	for _, o := range ops {
		if o.Kind == GaveBack && o.Count > 0 || o.Kind == MaybeGave {
			return true
		}
	}
	return false
}

// Equal states have equal hashes, and the model keeps no more states than a
// handful for a long history with unclear operations.
func TestModelStatesStayFew(t *testing.T) {
	r := Rules{Reentrant: true, Slack: 5 * millisecond}
	states := []lockState{{}}
	for i := range int64(200) {
		o := Op{Owner: int32(i%3 + 1), Call: i * 100, Return: i*100 + 50, Lease: 1000, Kind: []Kind{MaybeGot, MaybeGave, TookAndGave}[i%3]}
		var next []lockState
		for _, s := range states {
			next = r.step(next, s, &o)
		}
		states = distinct(next)
		if len(states) > 300 {
			t.Fatalf("%d states after %d operations", len(states), i+1)
		}
	}
}
