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
	gone  int    // members that are not held, or whose release found no hold
}

// newGroupHold follows the holds of the members.
func newGroupHold(ctx context.Context, g *Group, holds []*Hold) *GroupHold {
	h := &GroupHold{g: g, holds: holds, lost: make(chan struct{}), gate: make(chan struct{}, 1), open: make([]bool, len(holds))}
	h.ctx, h.end = context.WithCancelCause(context.WithoutCancel(ctx))
	for i, m := range holds {
		if h.open[i] = m != nil; m == nil {
			h.gone++
		}
	}
	h.held = len(holds) - h.gone
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
	if lost {
		close(h.lost) // before a release can find that out
	}
	h.mu.Unlock()
	if !lost {
		return
	}
	h.end(ErrLost)
	for _, m := range h.holds {
		if m != nil {
			m.setRenewed(false)
		}
	}
}

// isLost reports whether the group was lost before its release.
func (h *GroupHold) isLost() bool {
	select {
	case <-h.lost:
		return true
	default:
		return false
	}
}

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
	errs := make([]error, len(h.holds))
	for i, m := range h.holds {
		if errs[i] = errNoAnswerYet; m == nil {
			errs[i] = ErrNotHeld
		}
	}
	extended := func() bool { return countErrors(errs, func(err error) bool { return err == nil }) >= h.g.need }
	if !h.isLost() {
		h.askMembers("extend", errs, h.g.opts.NodeTimeout, extended, func(m *Hold) error { return m.Extend(ctx, d) })
	}
	switch {
	case extended():
		return nil
	case h.isLost():
		return fmt.Errorf("extend all: %w", ErrLost)
	case countErrors(errs, isOpen) == 0: // it was released before
		return errors.Join(errs...)
	}
	return joinOpen(errs)
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
// had the lock, and enough are free for another owner. It returns [ErrLost] if too few had
// it. After [ErrUnknown] you may call it again. It does not wait longer than
// [GroupOptions].NodeTimeout for members that change nothing. Their release goes on in the
// background.
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
	open, settled := h.releaseMembers(ctx, h.g.opts.NodeTimeout, h.isSettled, (*Hold).Release)
	if len(h.holds)-h.gone < h.g.need && !h.isLost() {
		close(h.lost)
		h.end(ErrLost)
	}
	h.end(ErrNotHeld) // unless it has ended as lost
	switch {
	case h.isLost():
		return fmt.Errorf("release all: %d members were not held: %w", h.gone, ErrLost)
	case settled:
		return nil
	}
	return open
}

// isSettled reports whether the answers to a release say enough. So many members are free
// that another owner could get the group. And it is certain whether the group was held.
func (h *GroupHold) isSettled(errs []error) bool {
	free, held := len(errs)-countErrors(errs, isOpen), len(errs)-h.gone-countErrors(errs, isGone)
	return free >= h.g.need+h.unsure && (held < h.g.need || held-len(errs)+free >= h.g.need)
}

// isGone reports whether a member has answered that it is not held any more.
func isGone(err error) bool { return errors.Is(err, ErrLost) || errors.Is(err, ErrNotHeld) }

// isOpen reports whether a member may still be held, as far as its answer says.
func isOpen(err error) bool { return err != nil && !isGone(err) }

func countErrors(errs []error, is func(error) bool) (n int) {
	for _, err := range errs {
		if is(err) {
			n++
		}
	}
	return n
}

// joinOpen joins the errors of the members that may still be held.
func joinOpen(errs []error) error {
	return errors.Join(slices.DeleteFunc(errs, func(err error) bool { return !isOpen(err) })...)
}

// giveBackGrace is the time for which a failed round waits for the release of its
// members. The release itself goes on.
const giveBackGrace = 500 * time.Millisecond

// giveBack releases all members after a failed round, and returns the unknown outcomes. It
// waits less for answers by the time that the round is late, but always for a moment.
func (h *GroupHold) giveBack(ctx context.Context, late time.Duration, release func(*Hold, context.Context) error) error {
	open, _ := h.releaseMembers(context.WithoutCancel(ctx), max(giveBackGrace-max(late, 0), giveBackGrace/10), func([]error) bool { return true }, release)
	return open
}

// errNoAnswerYet: the release of a member goes on.
var errNoAnswerYet = fmt.Errorf("no answer yet: %w", ErrUnknown)

// releaseMembers releases the members that are still to be released. It waits for their
// answers, and when patience is over no longer than until they are enough. It returns the
// errors of those that may still be held, and whether the answers are enough.
func (h *GroupHold) releaseMembers(ctx context.Context, patience time.Duration, enough func([]error) bool, release func(*Hold, context.Context) error) (open error, settled bool) {
	errs := make([]error, len(h.holds))
	h.mu.Lock()
	for i, open := range h.open {
		if open {
			errs[i] = errNoAnswerYet
		}
	}
	h.mu.Unlock()
	h.askMembers("release", errs, patience, func() bool { return enough(errs) }, func(m *Hold) error { return release(m, ctx) })
	settled = enough(errs)
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, err := range errs {
		h.open[i] = h.open[i] && isOpen(err)
	}
	h.gone += countErrors(errs, isGone)
	return joinOpen(errs), settled
}

// askMembers sends a request to each member without an answer in errs, all of them
// concurrently, and stores the answers there. When patience is over, it waits no longer
// than until they are enough.
func (h *GroupHold) askMembers(verb string, errs []error, patience time.Duration, enough func() bool, request func(*Hold) error) {
	type answer struct {
		member int
		err    error
	}
	answers := make(chan answer, len(errs))
	left := 0
	for i, err := range errs {
		if err == errNoAnswerYet {
			left++
			go func() { answers <- answer{i, request(h.holds[i])} }()
		}
	}
	over := time.After(patience)
	for late := false; left > 0 && !(late && enough()); {
		select {
		case a := <-answers:
			errs[a.member] = a.err
			left--
		case <-over:
			late = true
		}
	}
	for i, err := range errs {
		if err != nil {
			errs[i] = fmt.Errorf("%s member %d: %w", verb, i, err)
		}
	}
}
