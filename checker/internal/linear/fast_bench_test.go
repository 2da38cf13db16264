package linear

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

const (
	millisecond = int64(time.Millisecond)
	second      = int64(time.Second)
)

// lossy says what becomes of the owners whose replies are lost.
type lossy string

const (
	noneLost   lossy = "all-known"
	ownersStop lossy = "owners-stop"  // the client goes on under a new owner
	ownersGoOn lossy = "owners-go-on" // it cleans up, and goes on as it was
	ownersTry  lossy = "owners-try"   // it goes on as if it held nothing, and cleans up later or never
)

// load is a history of 20 clients that try again and again on a correct lock.
// Every second client loses replies. bad makes one late reply wrong: an acquire
// that was refused is granted.
type load struct {
	n     int
	lease int64
	lost  lossy
	every int // one reply in so many is lost; 0 means 50
	bad   bool
}

const loadClients = 20

func (l load) ops() []Op {
	r := rand.New(rand.NewPCG(5, 6))
	type client struct {
		owner  int32
		free   int64 // when it may go on
		unsure bool  // its last outcome is unknown
		knows  bool  // of owners that try: it was granted the lock, and has not asked to give it back
		maybe  bool  // of owners that try: it lost the reply to an acquire since then
		lossy  bool  // it has lost a reply
	}
	var clients [loadClients]client
	for i := range clients {
		clients[i].owner = int32(i + 1)
	}
	owners := int32(loadClients)
	ops, flips := make([]Op, 0, l.n), []int(nil)
	var holder int32
	who, end := -1, Forever // the client that holds, unless it has gone on as another owner
	for now := int64(millisecond); len(ops) < l.n; {
		now += 1 + r.Int64N(millisecond)
		if now >= end {
			holder, who, end = 0, -1, Forever
		}
		w := r.IntN(loadClients)
		if who >= 0 && r.IntN(3) == 0 {
			w = who
		}
		c := &clients[w]
		if c.free >= now {
			continue
		}
		o := Op{ID: int64(len(ops) + 1), Owner: c.owner, Lease: l.lease}
		o.Call = max(c.free+1, now-r.Int64N(2*millisecond))
		o.Asked, o.Return = o.Call, now+r.Int64N(2*millisecond)
		lost := l.lost != noneLost && w%2 == 0 && r.IntN(cmp.Or(l.every, 50)) == 0
		// Without leases no process would release the lock of an owner that stops.
		kept := l.lost == ownersStop && l.lease == Forever
		executed := !lost || r.IntN(2) == 0
		switch {
		case l.lost != ownersTry && holder == c.owner || c.knows || c.unsure:
			o.Kind = HeldNothing
			if executed = executed || kept; holder == c.owner && executed {
				o.Kind, holder, who, end = GaveBack, 0, -1, Forever
			}
			if lost {
				o.Kind, o.Return = MaybeGave, Forever
			}
		case holder == 0 && lost:
			o.Kind, o.Return = MaybeGot, Forever
			if executed && !kept {
				holder, who, end = c.owner, w, add(now, l.lease)
			}
		case lost:
			o.Kind, o.Return = MaybeGot, Forever
		case holder == 0:
			o.Kind, o.Count, holder, who, end = GotLock, 1, c.owner, w, add(now, l.lease)
		default:
			o.Kind = FoundBusy
			if who >= 0 && !clients[who].lossy && !c.lossy && l.n-len(ops) <= l.n/2 {
				flips = append(flips, len(ops))
			}
		}
		c.unsure, c.free = lost && l.lost == ownersGoOn, o.Return
		if l.lost == ownersTry {
			c.knows = o.Kind == GotLock
			c.maybe = o.Kind == MaybeGot || c.maybe && o.Kind != GaveBack && o.Kind != HeldNothing && o.Kind != MaybeGave
			c.unsure = c.maybe && r.IntN(2) == 0
		}
		if lost {
			c.lossy = l.lost == ownersGoOn || l.lost == ownersTry
			c.free = o.Call + 5*millisecond
			if l.lost == ownersStop {
				if owners++; who == w {
					who = -1
				}
				c.owner = owners
			}
		}
		ops = append(ops, o)
	}
	if l.bad {
		// The one with the shortest call is the hardest to explain away.
		k := slices.MinFunc(flips, func(a, b int) int { return int(ops[a].Return - ops[a].Call - ops[b].Return + ops[b].Call) })
		ops[k].Kind, ops[k].Count = GotLock, 1
	}
	slices.SortStableFunc(ops, byCall)
	return ops
}

// busyLock is a load without unknown outcomes.
func busyLock(n int, lease int64, bad bool) []Op {
	return load{n: n, lease: lease, lost: noneLost, bad: bad}.ops()
}

// porcupineLimit is the most operations shown to porcupine: its memory grows
// with their square.
const porcupineLimit = 10_000

// The two judges on the same histories. A case that a judge cannot decide
// within five seconds counts as "unknown"; the fast judge may not have any.
func BenchmarkJudges(b *testing.B) {
	for _, bad := range []bool{false, true} {
		for _, lease := range []int64{Forever, second / 5} {
			for _, lost := range []lossy{noneLost, ownersStop, ownersGoOn} {
				for _, n := range []int{1_000, 10_000, 100_000, 1_000_000} {
					words := map[bool]string{false: "legal", true: "illegal"}[bad] +
						map[bool]string{false: "/no-lease", true: "/lease"}[lease < Forever]
					judgeBeside(b, fmt.Sprintf("%s/%s/%d", words, lost, n), load{n: n, lease: lease, lost: lost, bad: bad})
				}
			}
		}
	}
}

func judgeBeside(b *testing.B, name string, l load) {
	var ops []Op
	want := OutcomeOK
	if l.bad {
		want = Violated
	}
	for _, by := range []string{"fast", "porcupine"} {
		j := judge(byFast)
		if by == "porcupine" {
			j = Porcupine
		}
		if by == "porcupine" && l.n > porcupineLimit {
			continue
		}
		b.Run(name+"/"+by, func(b *testing.B) {
			if ops == nil {
				ops = l.ops()
			}
			unknown := 0.0
			for b.Loop() {
				switch got := j(ops, Rules{}, 5*time.Second); {
				case got == Unknown && by == "porcupine":
					unknown = 1
				case got != want:
					b.Fatalf("got %s, want %s", got, want)
				}
			}
			b.ReportMetric(unknown, "unknown")
			b.ReportMetric(float64(l.n)*float64(b.N)/b.Elapsed().Seconds(), "ops/s")
		})
	}
}

// The search alone, on what the steps before it decide much faster.
func BenchmarkSearch(b *testing.B) {
	for _, bad := range []bool{false, true} {
		ops := busyLock(20_000, 3600*second, bad)
		b.Run(map[bool]string{false: "legal", true: "illegal"}[bad], func(b *testing.B) {
			for b.Loop() {
				if v := Search(ops, Rules{}, time.Minute); (v.Outcome == OutcomeOK) == bad || v.Outcome == Unknown {
					b.Fatalf("%+v", v)
				}
			}
			b.ReportMetric(float64(len(ops))*float64(b.N)/b.Elapsed().Seconds(), "ops/s")
		})
	}
}

func byFast(ops []Op, r Rules, budget time.Duration) Outcome { return Fast(ops, r, budget).Outcome }
