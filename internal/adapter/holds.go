package adapter

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// holds is the harness's view of an owner's holds. The conversation's mutex guards it,
// and its reader keeps it up to date: in the order in which the process said things.
type holds struct {
	current *remoteHold
	known   map[int64]*remoteHold // by the acquire that began them
}

type remoteHold struct {
	lost   chan struct{}
	isLost bool
}

func (h *holds) learn(r request, a reply) error {
	switch {
	case r.Do == doAcquire && a.OK:
		return h.granted(r.ID, a)
	case r.Do == doRelease && a.OK && a.Count == 0:
		h.over()
	case r.Do == doRelease && !a.OK && !slices.Contains(a.Errors, "unknown"):
		if slices.Contains(a.Errors, "lost") {
			for began := range h.known {
				h.lose(began)
			}
			h.over()
		} else if slices.Contains(a.Errors, "not-held") {
			h.over()
		}
	case a.Lost:
		h.lose(a.Hold)
	}
	return nil
}

// granted notes a grant. It belongs to the hold that the reply names; where
// the reply names none, to the present one unless the count says that the lock
// was taken afresh.
func (h *holds) granted(id int64, a reply) error {
	if a.Count < 1 {
		return errors.New(`a grant needs a "count" of 1 or more`)
	}
	if a.Hold == 0 && a.Count > 1 && h.current != nil {
		return nil
	}
	began := cmp.Or(a.Hold, id)
	if began > id {
		return fmt.Errorf("the hold began with request %d, which comes later", began)
	}
	if h.known[began] == nil {
		h.known[began] = &remoteHold{lost: make(chan struct{})}
	}
	h.current = h.known[began]
	return nil
}

// lose notes that a hold is lost. One that is over is not known any more.
func (h *holds) lose(began int64) {
	if r := h.known[began]; r != nil && !r.isLost {
		r.isLost = true
		close(r.lost)
	}
}

func (h *holds) over() {
	h.current = nil
	clear(h.known)
}
