package worker

import "sync"

// outbox keeps lines until the process takes them. A process that is paused
// takes none, and its pipe has an end: whoever sends must not wait for either.
type outbox struct {
	mu     sync.Mutex
	filled *sync.Cond
	queue  []request
	closed bool
}

func newOutbox() *outbox {
	b := &outbox{}
	b.filled = sync.NewCond(&b.mu)
	return b
}

func (b *outbox) put(r request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.queue = append(b.queue, r)
	b.filled.Signal()
}

// take waits for a request; false means that there will be none.
func (b *outbox) take() (request, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.queue) == 0 && !b.closed {
		b.filled.Wait()
	}
	if b.closed {
		return request{}, false
	}
	r := b.queue[0]
	b.queue = b.queue[1:]
	return r, true
}

// close drops what nobody has taken.
func (b *outbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.filled.Broadcast()
}
