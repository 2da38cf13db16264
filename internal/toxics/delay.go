package toxics

import (
	"math/rand/v2"
	"time"

	"github.com/Shopify/toxiproxy/v2/stream"
	"github.com/Shopify/toxiproxy/v2/toxics"
)

// Delay is a toxic that forwards every chunk after By, plus or minus up to
// Jitter, and never before the chunk ahead of it. Every connection has its own
// stream of jitter, drawn from Seed and the time of its first chunk. So the same
// run has the same delays, in whatever order its goroutines run.
type Delay struct {
	By, Jitter time.Duration
	Seed       uint64
	queueing
}

// Pipe implements [toxics.Toxic].
func (d *Delay) Pipe(stub *toxics.ToxicStub) {
	d.pipe(stub, func() *queue {
		var random *rand.Rand
		var last time.Time
		return &queue{admit: func(c *stream.StreamChunk, now time.Time) []queued {
			by := d.By
			if d.Jitter > 0 {
				if random == nil {
					random = rand.New(rand.NewPCG(d.Seed, uint64(now.UnixNano())))
				}
				by += time.Duration(random.Int64N(2*int64(d.Jitter)+1)) - d.Jitter
			}
			if due := now.Add(by); due.After(last) {
				last = due
			}
			return []queued{{c, last}}
		}}
	})
}
