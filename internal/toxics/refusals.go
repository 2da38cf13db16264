package toxics

import (
	"sync"
	"sync/atomic"
)

// Refusals counts the faults that refuse the new connections of a link. The zero
// value refuses none. It is safe for concurrent use.
type Refusals struct{ faults atomic.Int32 }

// Refuse refuses new connections until allow, which may be called more than once.
func (r *Refusals) Refuse() (allow func()) {
	r.faults.Add(1)
	return sync.OnceFunc(func() { r.faults.Add(-1) })
}

// Refused reports whether a new connection is refused.
func (r *Refusals) Refused() bool { return r.faults.Load() > 0 }
