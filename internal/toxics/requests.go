package toxics

import (
	"slices"
	"sync"
)

// Requests holds single requests that arrive over a link. A hold without a
// request waits for the next one. The reader of a connection calls Held before it
// executes or forwards a request, and reads nothing meanwhile. So everything
// behind the request waits, too, while other connections go on. The zero value
// holds nothing. It is safe for concurrent use.
type Requests struct {
	mu    sync.Mutex
	holds []*requestHold
}

type requestHold struct {
	met   bool // by a request
	ended chan struct{}
}

// Hold holds the next request until release, which may be called more than once.
func (r *Requests) Hold() (release func()) {
	h := &requestHold{ended: make(chan struct{})}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.holds = append(r.holds, h)
	return func() { r.end(h) }
}

// Held returns a channel for a request that has arrived. It is closed when the
// request may go on, and nil if nothing holds the request.
func (r *Requests) Held() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, h := range r.holds {
		if !h.met {
			h.met = true
			return h.ended
		}
	}
	return nil
}

// Release ends every hold.
func (r *Requests) Release() {
	r.mu.Lock()
	all := slices.Clone(r.holds)
	r.mu.Unlock()
	for _, h := range all {
		r.end(h)
	}
}

func (r *Requests) end(h *requestHold) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := slices.Index(r.holds, h); i >= 0 {
		r.holds = slices.Delete(r.holds, i, i+1)
		close(h.ended)
	}
}
