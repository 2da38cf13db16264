package play

import (
	"sync"

	"github.com/holdfast-go/holdfast/history"
	"github.com/holdfast-go/holdfast/lock"
)

// loss is what tells a client that its present hold is lost. It is recorded
// once, whoever hears of it first.
type loss struct {
	signal <-chan struct{} // nil where the lock has none, or the workload does not heed it
	note   func()

	mu   sync.Mutex
	told bool
}

// lossOfHold is the loss of the hold that was just granted.
func (c *Client) lossOfHold() *loss {
	l := &loss{}
	if n, ok := c.locker.(lock.LostNotifier); ok && !c.work.Carry {
		l.signal = n.Lost()
	}
	e := history.Event{Kind: history.Note, F: history.Lost, Client: c.Proc.Name(), Owner: c.owner, Lock: c.work.Lock}
	l.note = func() { c.rec.Add(e) }
	return l
}

// heard says whether the hold is known to be lost, and records that.
func (l *loss) heard() bool {
	select {
	case <-l.signal:
	default:
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.told {
		l.told = true
		l.note()
	}
	return true
}

// listen records a loss at once that is told while the client waits for an
// operation on its hold. What the client records after that operation comes
// after the loss, at the same instant too: call heard before.
func (c *Client) listen(l *loss) (stop func()) {
	if l.signal == nil {
		return func() {}
	}
	quit := make(chan struct{})
	go func() {
		select {
		case <-l.signal:
			if c.Proc.Gate() {
				l.heard()
			}
		case <-quit:
		}
	}()
	return func() { close(quit) }
}
