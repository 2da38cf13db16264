package checker

import (
	"cmp"
	"slices"

	"github.com/holdfast-go/holdfast/checker/history"
)

// Ownership: Only its owner releases or renews a hold.
const Ownership Property = "ownership"

var ownershipProperty = property{
	PropertyInfo: PropertyInfo{
		Name: Ownership, Promise: "Only its owner releases or renews a hold.",
		Broken: "a hold is released or renewed that is not the caller's",
	},
	harm:    always(wrongAnswer),
	claimed: func(h *history.Header) bool { return !h.Unwatched },
	judge:   byServerLog(judgeOwnership),
}

// judgeOwnership finds a command of one client in the server log that took,
// lowered or extended the live hold of another client's owner. A hold on the
// server is one whose lease still ran.
func judgeOwnership(t *trace) Verdict {
	for i := range t.changes {
		c := &t.changes[i]
		owner, ok := t.client[c.was]
		if !c.command() || c.was == "" || !ok || c.By == "" || c.By == owner {
			continue
		}
		if c.WasTTL > 0 && c.WasTTL <= t.allow.rounding { // its lease is over to the millisecond
			continue
		}
		var what string
		switch {
		case c.holder == "":
			what = "deleted"
		case c.ends():
			what = "overwrote"
		case c.Count < c.WasCount:
			if t.claims.Capacity() > 1 && t.permitRanOut(c) {
				continue
			}
			what = "lowered"
		case c.raises() && (c.TTL == -1 || c.TTL > c.WasTTL+t.allow.rounding):
			what = "prolonged"
		default:
			continue
		}
		return violation(c.t, opIDs(t.openOpOf(c.By, c.lock, c.t), t.grantOf(c.was, c.lock, c.t)),
			"%s %s the hold of %s on %s at %s with %s", c.By, what, c.was, c.Node, at(c.t), command(c))
	}
	return Verdict{Outcome: OutcomeOK}
}

// permitRanOut reports whether the lease of one of several permits was over when a command
// took it away. Each has a lease of its own, and the time to live is that of the longest.
func (t *trace) permitRanOut(c *change) bool {
	var ends []int64 // of the permits that the owner has, in order
	for _, b := range t.accountOf(ownerLock{c.was, c.lock}).changes.between(0, c.t-1) {
		switch {
		case b.Node != c.Node:
		case b.takes():
			if b.grants() {
				ends = nil
			}
			ends = append(ends, b.expires())
			slices.Sort(ends)
		case b.ends():
			ends = nil
		case b.Count >= b.WasCount || len(ends) == 0:
		case b.By == t.client[c.was]: // which one it gave back is not known
			ends = ends[:len(ends)-1]
		default:
			ends = ends[1:]
		}
	}
	ahead := t.allow.rounding // of the server's clock
	for _, f := range t.faults {
		if f.MovesClock && f.from <= c.t && f.touchesGroup(c.group) {
			ahead = plus(ahead, f.setsForth(c.t))
		}
	}
	return len(ends) > 0 && ends[0] <= plus(c.t, ahead)
}

func command(c *change) string { return cmp.Or(c.Command, "a command") }

func (t *trace) openOpOf(client, lock string, when int64) *op {
	for _, f := range []history.Func{history.Release, history.Acquire, history.Inspect} {
		if o := t.openOp(client, lock, f, when); o != nil {
			return o
		}
	}
	return nil
}
