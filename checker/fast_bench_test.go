package checker

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// busyLock is what a correct lock does with 20 clients that try again and
// again. bad makes one late reply wrong: a refused acquire was granted.
func busyLock(n int, lease int64, bad bool) []lockOp {
	r := rand.New(rand.NewPCG(5, 6))
	const clients = 20
	var free [clients + 1]int64 // when the client may go on
	ops := make([]lockOp, 0, n)
	holder := int32(0)
	for now := int64(millisecond); len(ops) < n; {
		now += 1 + r.Int64N(millisecond)
		w := 1 + r.Int32N(clients)
		if holder != 0 && r.IntN(3) == 0 {
			w = holder
		}
		if free[w] >= now {
			continue
		}
		o := lockOp{id: int64(len(ops) + 1), owner: w, name: "owner", lease: lease}
		o.call = max(free[w]+1, now-r.Int64N(2*millisecond))
		o.asked, o.ret = o.call, now+r.Int64N(2*millisecond)
		switch holder {
		case 0:
			o.kind, o.count, holder = gotLock, 1, w
		case w:
			o.kind, holder = gaveBack, 0
		default:
			o.kind = foundBusy
		}
		free[w] = o.ret
		ops = append(ops, o)
	}
	slices.SortStableFunc(ops, byCall)
	for i := len(ops) * 9 / 10; bad && i < len(ops); i++ {
		if ops[i].kind == foundBusy {
			ops[i].kind, ops[i].count = gotLock, 1
			break
		}
	}
	return ops
}

func BenchmarkFastJudge(b *testing.B) {
	for _, lease := range []int64{forever, 3600 * second} {
		for _, bad := range []bool{false, true} {
			for _, n := range []int{1_000, 100_000, 1_000_000} {
				name := map[bool]string{false: "legal", true: "illegal"}[bad]
				if lease < forever {
					name += "-leased"
				}
				ops := busyLock(n, lease, bad)
				b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
					b.ReportAllocs()
					for b.Loop() {
						if v := fastRuling(ops, rules{}, time.Minute); (v.outcome == Good) == bad || v.outcome == Unknown {
							b.Fatalf("%+v", v)
						}
					}
					b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "ops/s")
				})
			}
		}
	}
}

// The search alone, on what the sessions decide much faster.
func BenchmarkSearch(b *testing.B) {
	for _, bad := range []bool{false, true} {
		ops := busyLock(20_000, 3600*second, bad)
		b.Run(map[bool]string{false: "legal", true: "illegal"}[bad], func(b *testing.B) {
			for b.Loop() {
				if v := bySearch(ops, rules{}, time.Minute); (v.outcome == Good) == bad || v.outcome == Unknown {
					b.Fatalf("%+v", v)
				}
			}
			b.ReportMetric(float64(len(ops))*float64(b.N)/b.Elapsed().Seconds(), "ops/s")
		})
	}
}
