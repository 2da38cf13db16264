package lock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// GroupHold is the grant of one call of [Group.Acquire]. Its methods are safe for
// concurrent use.
type GroupHold struct {
	g      *Group
	holds  []*Hold // by member; nil for one that is not held
	unsure int     // members that are not held, and may have been granted

	ctx  context.Context // ends with the hold
	end  context.CancelCauseFunc
	lost chan struct{}
	gate chan struct{} // lets one Release through

	mu    sync.Mutex
	held  int    // members that have not been lost
	ended bool   // lost, or released
	open  []bool // members to release
}

// newGroupHold follows the holds of the members.
func newGroupHold(ctx context.Context, g *Group, holds []*Hold) *GroupHold {
	h := &GroupHold{g: g, holds: holds, lost: make(chan struct{}), gate: make(chan struct{}, 1), open: make([]bool, len(holds))}
	h.ctx, h.end = context.WithCancelCause(context.WithoutCancel(ctx))
	for i, m := range holds {
		if m != nil {
			h.open[i] = true
			h.held++
		}
	}
	for _, m := range holds {
		if m == nil {
			continue
		}
		_, cause := m.s.onEnd(m.cur, func(cause error) {
			if errors.Is(cause, ErrLost) {
				h.memberLost()
			}
		})
		if cause != nil {
			h.memberLost()
		}
	}
	return h
}

// memberLost counts a member that was lost. Without enough others the group is lost.
func (h *GroupHold) memberLost() {
	h.mu.Lock()
	h.held--
	lost := h.held < h.g.need && !h.ended
	h.ended = h.ended || lost
	h.mu.Unlock()
	if !lost {
		return
	}
	close(h.lost)
	h.end(ErrLost)
	for _, m := range h.holds {
		if m != nil {
			m.setRenewed(false)
		}
	}
}

// isLost reports whether the group was lost before its release.
func (h *GroupHold) isLost() bool { return errors.Is(context.Cause(h.ctx), ErrLost) }

// Lost returns a channel that is closed when the group is lost, but not when it is
// released.
func (h *GroupHold) Lost() <-chan struct{} { return h.lost }

// Context returns a context for work under the group; see [Hold.Context].
func (h *GroupHold) Context() context.Context { return h.ctx }

// Tokens returns the fencing tokens of the members in their order, 0 for a member that is
// not held or has none; see [Hold.Token].
func (h *GroupHold) Tokens() []uint64 {
	tokens := make([]uint64, len(h.holds))
	for i, m := range h.holds {
		if m != nil {
			tokens[i] = m.Token()
		}
	}
	return tokens
}

// Remaining returns the time for which enough members are held without a renewal or
// extension; see [Hold.Remaining].
func (h *GroupHold) Remaining() time.Duration { return remaining(h.until()) }

// until returns the end of the hold, or the zero time if the hold is over.
func (h *GroupHold) until() time.Time {
	var ends []time.Time
	for _, m := range h.holds {
		if m != nil {
			ends = append(ends, m.until())
		}
	}
	if len(ends) < h.g.need {
		return time.Time{}
	}
	slices.SortFunc(ends, func(a, b time.Time) int { return b.Compare(a) })
	return ends[h.g.need-1]
}

// Extend makes the hold last for at least d from now. It extends all members, and fails
// if too few of them could be extended; see [Hold.Extend]. It does not wait longer than
// [GroupOptions].NodeTimeout for members without which the group is held.
func (h *GroupHold) Extend(ctx context.Context, d time.Duration) error {
	if h.isLost() {
		return fmt.Errorf("extend all: %w", ErrLost)
	}
	errs := make([]error, len(h.holds))
	for i, m := range h.holds {
		if errs[i] = errNoAnswerYet; m == nil {
			errs[i] = ErrNotHeld
		}
	}
	isExtended := func(err error) bool { return err == nil }
	if h.askMembers("extend", errs, h.g.opts.NodeTimeout, h.g.need, isExtended, func(m *Hold) error { return m.Extend(ctx, d) }) >= h.g.need {
		return nil
	}
	return errors.Join(errs...)
}

// raise gives a nested acquire its lease, or the watchdog's for 0. Its request finds a loss.
func (h *GroupHold) raise(ctx context.Context, lease time.Duration) error {
	if lease != 0 {
		return h.Extend(ctx, lease)
	}
	_, lease = h.renewed()
	err := h.Extend(ctx, lease)
	for _, m := range h.holds {
		if m != nil && err == nil {
			m.setRenewed(true)
		}
	}
	return err
}

// renewed reports whether watchdogs renew the hold, and the shortest of their leases.
func (h *GroupHold) renewed() (renewed bool, lease time.Duration) {
	for _, m := range h.holds {
		if m == nil {
			continue
		}
		m.s.c.mu.Lock()
		renewed = m.cur.renewed
		m.s.c.mu.Unlock()
		if d := m.s.c.cfg.lease; lease == 0 || d < lease {
			lease = d
		}
	}
	return renewed, lease
}

// setRenewed starts or ends the renewal of a hold that is neither lost nor released.
func (h *Hold) setRenewed(on bool) {
	c := h.s.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if !h.s.has(h.cur) || h.cur.renewed == on {
		return
	}
	h.cur.renewed, h.s.due = on, time.Now().Add(c.cfg.lease/3)
	h.s.settle()
}

// Release releases every member, all of them concurrently. It succeeds if enough members
// are free for another owner, and returns [ErrLost] if the group was lost before. After
// [ErrUnknown] you may call it again. It does not wait longer than
// [GroupOptions].NodeTimeout for members without which the group is free. Their release
// goes on in the background.
func (h *GroupHold) Release(ctx context.Context) error {
	h.gate <- struct{}{}
	defer func() { <-h.gate }()
	h.mu.Lock()
	held := slices.Contains(h.open, true)
	h.ended = true
	h.mu.Unlock()
	if !held {
		return fmt.Errorf("release all: %w", ErrNotHeld)
	}
	lost := h.isLost()
	need := h.g.need + h.unsure
	errs, free := h.releaseMembers(ctx, h.g.opts.NodeTimeout, need)
	h.end(ErrNotHeld) // unless it has ended as lost
	gone, absent := 0, 0
	for i, err := range errs {
		switch {
		case h.holds[i] == nil:
			absent++
		case errors.Is(err, ErrLost), errors.Is(err, ErrNotHeld):
			gone++
		}
	}
	switch {
	case lost:
		return fmt.Errorf("release all: %w", ErrLost)
	case len(h.holds)-gone-absent < h.g.need:
		return fmt.Errorf("release all: %d members had lost it: %w", gone, errors.Join(append(errs, ErrLost)...))
	case h.g.any && free >= need:
		return nil
	}
	return errors.Join(errs...)
}

// giveBackGrace is the time for which a failed round waits for the release of its
// members. The release itself goes on.
const giveBackGrace = 500 * time.Millisecond

// giveBack releases all members after a failed round, and returns the unknown outcomes.
func (h *GroupHold) giveBack(ctx context.Context) error {
	var unclear []error
	errs, _ := h.releaseMembers(context.WithoutCancel(ctx), giveBackGrace, 0)
	for _, err := range errs {
		if errors.Is(err, ErrUnknown) {
			unclear = append(unclear, err)
		}
	}
	return errors.Join(unclear...)
}

// errNoAnswerYet: the release of a member goes on.
var errNoAnswerYet = fmt.Errorf("no answer yet: %w", ErrUnknown)

// releaseMembers releases the members that are still to be released. It returns what came
// of each, nil for the others, and how many have no unknown outcome.
func (h *GroupHold) releaseMembers(ctx context.Context, patience time.Duration, need int) (errs []error, free int) {
	errs = make([]error, len(h.holds))
	h.mu.Lock()
	for i, open := range h.open {
		if open {
			errs[i] = errNoAnswerYet
		}
	}
	h.mu.Unlock()
	isFree := func(err error) bool { return !errors.Is(err, ErrUnknown) }
	free = h.askMembers("release", errs, patience, need, isFree, func(m *Hold) error { return m.Release(ctx) })
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, err := range errs {
		h.open[i] = h.open[i] && !isFree(err)
	}
	return errs, free
}

// askMembers sends a request to each member without an answer in errs, all of them
// concurrently, and stores the answers there. It returns how many members are done. When
// patience is over, it waits no longer than until need of them are.
func (h *GroupHold) askMembers(verb string, errs []error, patience time.Duration, need int, isDone func(error) bool, request func(*Hold) error) (done int) {
	type answer struct {
		member int
		err    error
	}
	answers := make(chan answer, len(errs))
	left := 0
	for i, err := range errs {
		if isDone(err) {
			done++
		}
		if err == errNoAnswerYet {
			left++
			go func() { answers <- answer{i, request(h.holds[i])} }()
		}
	}
	over := time.After(patience)
	for late := false; left > 0 && !(late && done >= need); {
		select {
		case a := <-answers:
			errs[a.member] = a.err
			left--
			if isDone(a.err) {
				done++
			}
		case <-over:
			late = true
		}
	}
	for i, err := range errs {
		if err != nil {
			errs[i] = fmt.Errorf("%s member %d: %w", verb, i, err)
		}
	}
	return done
}
