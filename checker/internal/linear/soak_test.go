package linear

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// narrow is a search that keeps only one operation of a sort open.
func narrow(ops []Op, r Rules) Ruling {
	s := newSearch(r, time.Now().Add(2*time.Second))
	s.parking.room = 1
	return s.followAll(strays(ops, r))
}

// whole is a search that keeps every situation.
func whole(ops []Op, r Rules) Ruling {
	ops = strays(ops, r)
	return byAll(ops, r, tokenOrder(ops), time.Now().Add(2*time.Second))
}

// witness is a search that keeps one situation.
func witness(ops []Op, r Rules) Ruling {
	ops = strays(ops, r)
	if byWitness(ops, r, tokenOrder(ops), 1, time.Now().Add(2*time.Second)) {
		return good()
	}
	return undecided("one situation is not enough")
}

// steps must agree with porcupine where it decides.
var steps = []struct {
	name string
	by   func([]Op, Rules) Ruling
}{
	{"replies", byReplies},
	{"search", func(ops []Op, r Rules) Ruling { return Search(ops, r, 2*time.Second) }},
	{"narrow search", narrow},
	{"whole search", whole},
	{"witness", witness},
}

// tally counts what was compared.
type tally struct {
	histories, legal, illegal         int
	replies, search                   int // decided by which step first
	fastUndecided, porcupineUndecided int
	enumerated, legalThere            int
}

func (n *tally) add(m *tally) {
	n.histories += m.histories
	n.legal += m.legal
	n.illegal += m.illegal
	n.replies += m.replies
	n.search += m.search
	n.fastUndecided += m.fastUndecided
	n.porcupineUndecided += m.porcupineUndecided
	n.enumerated += m.enumerated
	n.legalThere += m.legalThere
}

// compare has every step and porcupine judge a history. The difference is
// empty, or tells the smallest part of the history on which they differ.
func compare(ops []Op, r Rules, budget time.Duration) (n tally, difference string) {
	n.histories = 1
	want := Porcupine(ops, r, budget)
	said := make([]Outcome, len(steps))
	for i, step := range steps {
		v := step.by(ops, r)
		said[i] = v.Outcome
		if want != Unknown && v.Outcome != Unknown && v.Outcome != want {
			few := smallest(ops, func(o []Op) bool {
				w, f := Porcupine(o, r, time.Second), step.by(o, r).Outcome
				return w != Unknown && f != Unknown && w != f
			})
			return n, fmt.Sprintf("%s says %s, porcupine %s, of (%+v)%s\n%s", step.name, step.by(few, r).Outcome, Porcupine(few, r, time.Second), r, listing(few), v.Why)
		}
		if v.Outcome != OutcomeOK && (v.Why == "" || len(v.Ops) > MaxCause || strings.Contains(v.Why, "%!")) {
			return n, fmt.Sprintf("%s gives no good reason: %+v%s", step.name, v, listing(ops))
		}
	}
	verdict := want
	switch {
	case said[0] != Unknown:
		n.replies++
		verdict = said[0]
	case said[1] != Unknown:
		n.search++
		verdict = said[1]
	default:
		n.fastUndecided++
	}
	if want == Unknown {
		n.porcupineUndecided++
		// Without porcupine, they are compared with one another.
		for i, o := range said {
			if o != Unknown && verdict != Unknown && o != verdict {
				return n, fmt.Sprintf("%s says %s, another step %s, of (%+v)%s", steps[i].name, o, verdict, r, listing(ops))
			}
		}
	}
	switch verdict {
	case OutcomeOK:
		n.legal++
	case Violated:
		n.illegal++
	}
	return n, ""
}

// enumerate has the fast judge and porcupine agree with trying every order and
// every instant. It does nothing when the history has what that does not know.
func enumerate(ops []Op, r Rules) (n tally, difference string) {
	const horizon = 40
	if r.Loose || r.Slack > 0 || len(ops) > 5 {
		return n, ""
	}
	for _, o := range ops {
		switch o.Kind {
		case GotLock:
			if o.Count == 0 || o.Token > 0 {
				return n, ""
			}
		case MaybeGot:
			if !o.Crashed {
				return n, ""
			}
		case FoundBusy, GaveBack, HeldNothing, MaybeGave:
		default:
			return n, ""
		}
		if o.Renewed || o.Return > horizon && o.Return < Forever || o.Call > horizon {
			return n, ""
		}
	}
	n.enumerated = 1
	legal := exhaustive(ops, r.Reentrant, horizon)
	if legal {
		n.legalThere = 1
	}
	differ := func(o []Op, legal bool) bool {
		// After a partial release the model accepts any lease.
		fast := Fast(o, r, time.Minute).Outcome
		return fast == Unknown || (fast == OutcomeOK) != legal && (legal || !hasPartial(o))
	}
	if !differ(ops, legal) {
		return n, ""
	}
	few := smallest(ops, func(o []Op) bool { return differ(o, exhaustive(o, r.Reentrant, horizon)) })
	return n, fmt.Sprintf("fast judge says %s, enumeration legal=%t, of (%+v)%s",
		Fast(few, r, time.Minute).Outcome, exhaustive(few, r.Reentrant, horizon), r, listing(few))
}

// swarm is a history, as bytes, that has few kinds of operations, owners, pauses,
// durations and leases, other ones every time. An event that is rare among everything is
// frequent among little.
func swarm(r *rand.Rand) []byte {
	few := func(n int, from func() byte) func() byte {
		some := make([]byte, 1+r.IntN(n))
		for i := range some {
			some[i] = from()
		}
		return func() byte { return some[r.IntN(len(some))] }
	}
	any := func() byte { return byte(r.Uint32()) }
	who := few(3, func() byte { return any() & 3 })
	kind := few(4, func() byte { return byte(r.IntN(int(Inspected) + 1)) })
	flags := few(2, func() byte { return any() & 192 })
	pause := few(3, func() byte { return any() & 31 })
	count := few(2, func() byte { return any() & 3 << 5 })
	takes, lease, rest := few(3, any), few(2, any), few(2, any)
	token := func() byte { return 0 }
	if r.IntN(4) == 0 {
		token = any
	}
	data := []byte{any()}
	for range 2 + r.IntN(6) {
		data = append(data, who()|kind()<<2|flags(), pause()|count(), takes(), lease(), rest(), token())
	}
	return data
}

// soakOne judges the history of a number.
func soakOne(seed, number uint64) (tally, string) {
	r := rand.New(rand.NewPCG(seed, number))
	if number%4 == 3 {
		reentrant := r.IntN(2) == 0
		ops := randomOps(r, !reentrant || r.IntN(3) == 0, r.IntN(4) == 0)
		n, d := enumerate(ops, Rules{Reentrant: reentrant})
		if d == "" {
			var m tally
			m, d = compare(ops, Rules{Reentrant: reentrant}, 500*time.Millisecond)
			n.add(&m)
		}
		return n, d
	}
	if number%4 == 1 || number%4 == 2 {
		ops, rules := opsOf(swarm(r))
		return compare(ops, rules, 500*time.Millisecond)
	}
	m := randomMix(r)
	owners, each := 1+r.IntN(4), 1+r.IntN(5)
	if r.IntN(8) == 0 {
		owners, each = 2+r.IntN(4), 3+r.IntN(6)
	}
	return compare(simulated(r, m, owners, each, r.IntN(4)), m.rules(), 500*time.Millisecond)
}

// All judges of lock histories agree, in both directions, on random histories. These have
// leases or none, are reentrant or not, and have unknown outcomes and owners who go on
// after them. A slice of what `make soak` does at length.
//
// HOLDFAST_SEED makes other histories; HOLDFAST_HISTORY judges the one of a
// number, which a difference names.
func TestSoak(t *testing.T) {
	total := uint64(rounds(t, 20_000))
	seed, _ := strconv.ParseUint(os.Getenv("HOLDFAST_SEED"), 10, 64)
	if number, err := strconv.ParseUint(os.Getenv("HOLDFAST_HISTORY"), 10, 64); err == nil {
		if _, d := soakOne(seed, number); d != "" {
			t.Fatal(d)
		}
		return
	}
	var all tally
	var differences []string
	var mu sync.Mutex
	var next, judged atomic.Uint64
	var workers sync.WaitGroup
	began := time.Now()
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			var mine tally
			for {
				number := next.Add(1) - 1
				if number >= total {
					break
				}
				n, d := soakOne(seed, number)
				mine.add(&n)
				judged.Add(1)
				if n.fastUndecided > 0 {
					t.Logf("undecided by the fast judge: history %d of seed %d", number, seed)
				}
				if d != "" {
					next.Store(total) // enough
					mu.Lock()
					differences = append(differences, fmt.Sprintf("history %d of seed %d: %s", number, seed, d))
					mu.Unlock()
				}
			}
			mu.Lock()
			all.add(&mine)
			mu.Unlock()
		})
	}
	done := make(chan struct{})
	go func() { workers.Wait(); close(done) }()
	tick := time.NewTicker(10 * time.Second)
	defer tick.Stop()
	for going := true; going; {
		select {
		case <-done:
			going = false
		case <-tick.C:
			n, took := judged.Load(), time.Since(began)
			t.Logf("%d of %d histories, %.0f a second", n, total, float64(n)/took.Seconds())
		}
	}
	slices.Sort(differences)
	for _, d := range differences {
		t.Error(d)
	}
	t.Logf("decided by the replies alone %d, by the search %d; %d also by enumeration, %d of them legal",
		all.replies, all.search, all.enumerated, all.legalThere)
	t.Logf("soak: %d histories, %d legal, %d illegal, undecided: %d by the fast judge, %d by porcupine; %d differences (seed %d, %s)",
		all.histories, all.legal, all.illegal, all.fastUndecided, all.porcupineUndecided, len(differences), seed, time.Since(began).Round(time.Second))
	few := max(all.histories/20, 1)
	if all.legal < few || all.illegal < few {
		t.Error("too few histories of one kind: the test proves little")
	}
	if all.fastUndecided > all.histories/100 {
		t.Error("too many histories are undecided")
	}
}
