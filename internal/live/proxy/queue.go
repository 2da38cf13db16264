package proxy

import (
	"io"
	"sync"
)

// queue takes all data at once and forwards it from a goroutine of its own. So a
// handler of a request may add toxics to the connection, which waits for the chain
// of toxics to be free.
type queue struct {
	to io.WriteCloser

	mu     sync.Mutex
	more   sync.Cond
	parts  [][]byte
	closed bool
}

// newQueue starts a queue. It ends after Close, when all data has been written or
// a write has failed.
func newQueue(to io.WriteCloser) *queue {
	q := &queue{to: to}
	q.more.L = &q.mu
	go q.run()
	return q
}

// Write never fails and never waits.
func (q *queue) Write(b []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.parts = append(q.parts, append([]byte(nil), b...))
	q.more.Signal()
	return len(b), nil
}

// Close lets the queue end.
func (q *queue) Close() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.more.Signal()
	return nil
}

func (q *queue) run() {
	for {
		part, ok := q.next()
		if !ok {
			q.to.Close()
			return
		}
		// A broken connection drops everything behind it.
		_, _ = q.to.Write(part)
	}
}

func (q *queue) next() ([]byte, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.parts) == 0 && !q.closed {
		q.more.Wait()
	}
	if len(q.parts) == 0 {
		return nil, false
	}
	part := q.parts[0]
	q.parts = q.parts[1:]
	return part, true
}
