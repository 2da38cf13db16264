package toxics

import (
	"slices"
	"sync"
)

// Requests withholds single requests that arrive over a link. An order to withhold
// waits for the next request. The reader of a connection calls Withheld before it
// executes or forwards a request, and reads nothing meanwhile. So everything
// behind the request waits, too, while other connections go on. The zero value
// withholds nothing. It is safe for concurrent use.
type Requests struct {
	mu     sync.Mutex
	orders []*order
}

type order struct {
	met   bool // by a request
	ended chan struct{}
}

// Withhold withholds the next request until release, which may be called more than once.
func (r *Requests) Withhold() (release func()) {
	o := &order{ended: make(chan struct{})}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.orders = append(r.orders, o)
	return func() { r.end(o) }
}

// Withheld returns a channel for a request that has arrived. It is closed when the
// request may go on, and nil if nothing withholds
// it.
func (r *Requests) Withheld() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, o := range r.orders {
		if !o.met {
			o.met = true
			return o.ended
		}
	}
	return nil
}

// Release lets every request go on.
func (r *Requests) Release() {
	r.mu.Lock()
	all := slices.Clone(r.orders)
	r.mu.Unlock()
	for _, o := range all {
		r.end(o)
	}
}

func (r *Requests) end(o *order) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := slices.Index(r.orders, o); i >= 0 {
		r.orders = slices.Delete(r.orders, i, i+1)
		close(o.ended)
	}
}
