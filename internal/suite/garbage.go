package suite

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
)

// CollectRarely makes the garbage collector run less often, for a process that reads
// long histories and keeps most of them. The heap may double, and grow by room bytes,
// between two collections
// until the caller calls restore. Without that room, a growing heap causes dozens of
// collections, and each scans all of it.
func CollectRarely(room uint64) (restore func()) {
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
	// least is the size that the runtime assumes for a smaller heap.
	least = 4 << 20
)

type pace struct {
	sync.Mutex
	room uint64
	over bool
}

// The finalizer calls set after every collection.
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

// collected is large enough for an allocation, and so a finalizer, of its own.
type collected struct{ _ [64]byte }
