package lock

import (
	"container/heap"
	"strconv"
)

// callPrefix starts the owners of [Client.Acquire]. No named owner may start with
// it.
const callPrefix = ":"

// calls numbers the concurrent calls for each name of a lock. It reuses the
// smallest free number, so the server remembers the last requests of few owners.
// Guarded by Client.mu.
type calls map[string]*numbers

// numbers are those from 1 to last, without the free ones.
type numbers struct {
	last int
	free intHeap
}

func (c calls) take(name string) int {
	n := c[name]
	if n == nil {
		n = &numbers{}
		c[name] = n
	}
	if len(n.free) > 0 {
		return heap.Pop(&n.free).(int)
	}
	n.last++
	return n.last
}

func (c calls) giveBack(name string, number int) {
	n := c[name]
	heap.Push(&n.free, number)
	if len(n.free) == n.last {
		delete(c, name)
	}
}

// intHeap has its smallest number first.
type intHeap []int

func (h intHeap) Len() int           { return len(h) }
func (h intHeap) Less(i, j int) bool { return h[i] < h[j] }
func (h intHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *intHeap) Push(x any)        { *h = append(*h, x.(int)) }
func (h *intHeap) Pop() any {
	last := len(*h) - 1
	x := (*h)[last]
	*h = (*h)[:last]
	return x
}

// enterCall returns a state for a new owner that is one call, and counts the
// caller as its only user.
func (c *Client) enterCall(name string, fair bool) (*state, error) {
	if name != "" {
		name = c.cfg.prefix + name
	}
	n, err := newNames(name)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, ErrClosed
	}
	number := c.calls.take(name)
	s := c.newState(stateKey{name, callPrefix + strconv.Itoa(number)}, n)
	s.call, s.fair = number, fair
	s.use()
	return s, nil
}

// reenter counts one more user of a state that may have been dropped.
func (s *state) reenter() error {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	if s.c.closed {
		return ErrClosed
	}
	s.use()
	return nil
}
