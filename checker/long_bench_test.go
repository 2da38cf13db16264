package checker

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/checker/internal/linear"
)

func BenchmarkDecode(b *testing.B) {
	text := encoded(b, longRun{ops: 20_000, servers: true, resource: true}.history())
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := history.Decode(strings.NewReader(text)); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkHistory judges right histories on every property. Time and memory of
// one lock operation stay about the same from row to row: no judge is quadratic.
func BenchmarkHistory(b *testing.B) {
	for _, servers := range []bool{false, true} {
		for _, n := range []int{10_000, 100_000, 1_000_000} {
			name := map[bool]string{false: "clients", true: "servers"}[servers]
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				h := longRun{ops: n, servers: servers, resource: servers}.history()
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				for b.Loop() {
					r, err := Judge(h, Options{Judges: string(linear.FastOnly)})
					if err != nil || r.Verdicts[Exclusion].Outcome != OutcomeOK || r.Verdicts[Linearizable].Outcome != OutcomeOK {
						b.Fatal(r, err)
					}
				}
				runtime.ReadMemStats(&after)
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n)/float64(b.N), "ns/lock-op")
				b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/float64(n)/float64(b.N), "B/lock-op")
			})
		}
	}
}
