// Package garbage sets how often a process looks for garbage that keeps nearly
// all it makes, such as one that reads a long history and judges it.
package garbage

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
)

// Rarely lets the heap double and grow by room bytes from one collection to the
// next, until restore is called. Without room there are dozens of collections
// while a heap grows, each of which looks at all of it.
func Rarely(room uint64) (restore func()) {
	p := &pace{room: room}
	before := debug.SetGCPercent(double)
	p.set()
	return func() {
		p.Lock()
		defer p.Unlock()
		p.over = true
		debug.SetGCPercent(before)
	}
}

const (
	double = 100 // percent
	// least is what the runtime takes the heap for when it is smaller.
	least = 4 << 20
)

type pace struct {
	sync.Mutex
	room uint64
	over bool
}

// set is called again after every collection.
func (p *pace) set() {
	p.Lock()
	defer p.Unlock()
	if p.over {
		return
	}
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	debug.SetGCPercent(double + int(100*p.room/max(live[0].Value.Uint64(), least)))
	runtime.SetFinalizer(&collected{}, func(*collected) { p.set() })
}

// collected is big enough to get a place, and so a finalizer, of its own.
type collected struct{ _ [64]byte }
