package toxics

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/Shopify/toxiproxy/v2/stream"
	"github.com/Shopify/toxiproxy/v2/toxics"
)

// queueing is the common part of the toxics of this package. It is one queue per
// connection, from which bytes go on in order when they are due. The end of a stream
// queues behind its bytes, as a FIN does.
//
//	Input -> admit -> queue, until due -> Output
//
// A toxiproxy chain interrupts a toxic not only to take it off but also to
// chain another one behind it. A toxic that a fault has attached with on keeps
// its queue then; only its heal hands everything on. A toxic attached bare
// hands everything on whenever it is interrupted.
type queueing struct {
	managed bool          // attached with on
	healing atomic.Bool   // set before the removal of the toxic
	healed  chan struct{} // closed afterwards: no further interrupts follow

	mu    sync.Mutex
	conns map[*toxics.ToxicStub]*queue
}

// queue is the state of one connection in one direction.
type queue struct {
	admit func(c *stream.StreamChunk, now time.Time) []queued
	rest  func() []byte // bytes that admit still withholds; may be nil
	items []queued
}

// queued is a chunk with its due time. The zero time means: not while the toxic
// is on. A nil chunk is the end of the stream.
type queued struct {
	chunk *stream.StreamChunk
	due   time.Time
}

// orphanTimeout is the time for which bytes wait for a reader after the removal of the
// toxic, if the world has forgotten the connection.
const orphanTimeout = 5 * time.Second

// Manage attaches the toxic with on, a function that returns its removal, and
// returns the heal. After heal no goroutine of the toxic remains, whatever
// happened to the connections.
func (q *queueing) Manage(attach func() (detach func(), err error)) (heal func() error, err error) {
	q.managed, q.healed = true, make(chan struct{})
	detach, err := attach()
	if err != nil {
		q.healing.Store(true)
		close(q.healed)
		return nil, err
	}
	return func() error {
		q.healing.Store(true)
		detach()
		close(q.healed)
		return nil
	}, nil
}

func (q *queueing) conn(stub *toxics.ToxicStub, fresh func() *queue) *queue {
	q.mu.Lock()
	defer q.mu.Unlock()
	c := q.conns[stub]
	if c == nil {
		c = fresh()
		if q.conns == nil {
			q.conns = map[*toxics.ToxicStub]*queue{}
		}
		q.conns[stub] = c
	}
	return c
}

func (q *queueing) forget(stub *toxics.ToxicStub) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.conns, stub)
}

// pipe runs one connection until it ends, is interrupted, or the toxic is
// healed.
func (q *queueing) pipe(stub *toxics.ToxicStub, fresh func() *queue) {
	c := q.conn(stub, fresh)
	input := stub.Input
	for {
		var due <-chan time.Time
		var timer *time.Timer
		if len(c.items) > 0 && !c.items[0].due.IsZero() {
			wait := time.Until(c.items[0].due)
			if wait <= 0 {
				if !c.pop(stub) {
					q.forget(stub)
					return
				}
				continue
			}
			timer = time.NewTimer(wait)
			due = timer.C
		}
		select {
		case chunk := <-input:
			if chunk == nil {
				input = nil
			}
			c.items = append(c.items, c.admit(chunk, time.Now())...)
		case <-due:
		case <-stub.Interrupt:
			if !q.managed || q.healing.Load() {
				q.forget(stub)
				c.flush(stub, 0)
			}
			return
		case <-q.healed:
			q.forget(stub)
			if c.flush(stub, orphanTimeout) {
				new(toxics.NoopToxic).Pipe(stub)
			}
			return
		}
		if timer != nil {
			timer.Stop()
		}
	}
}

// pop forwards the first item; false means that the stream has ended.
func (c *queue) pop(stub *toxics.ToxicStub) bool {
	item := c.items[0]
	if item.chunk == nil {
		stub.Close()
		return false
	}
	stub.Output <- item.chunk
	c.items = c.items[1:]
	return true
}

// flush forwards everything in order; false means that the stream has ended. A
// timeout other than 0 limits the wait for a reader. After it the rest is lost
// with its connection.
func (c *queue) flush(stub *toxics.ToxicStub, timeout time.Duration) bool {
	if c.rest != nil {
		if b := c.rest(); len(b) > 0 {
			c.items = append(c.items, queued{chunk: &stream.StreamChunk{Data: b}})
		}
	}
	for _, item := range c.items {
		if item.chunk == nil || stub.WriteOutput(item.chunk, timeout) != nil {
			stub.Close()
			return false
		}
	}
	c.items = nil
	return true
}
