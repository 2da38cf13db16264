package adapter

import "sync"

// outbox keeps lines until the process takes them. A process that is paused takes none,
// and its pipe has an end: a sender must not wait for either.
type outbox struct {
	mu     sync.Mutex
	filled *sync.Cond
	queue  [][]byte
	closed bool
}

func newOutbox() *outbox {
	b := &outbox{}
	b.filled = sync.NewCond(&b.mu)
	return b
}

func (b *outbox) put(line []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.queue = append(b.queue, line)
	b.filled.Signal()
}

// take waits for a line; false means that there will be none.
func (b *outbox) take() ([]byte, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.queue) == 0 && !b.closed {
		b.filled.Wait()
	}
	if b.closed {
		return nil, false
	}
	line := b.queue[0]
	b.queue = b.queue[1:]
	return line, true
}

// close drops the messages that are left.
func (b *outbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.filled.Broadcast()
}
