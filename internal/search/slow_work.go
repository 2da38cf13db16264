package search

import (
	"slices"

	"github.com/holdfast-go/holdfast/checker/history"
)

// workedPastLease reports whether a client needed some unrenewed hold, taken by a
// time, for nearly its lease or longer. The time in which its process was paused
// does not count.
func workedPastLease(h *history.History, by int64) bool {
	type hold struct {
		client, owner, lock string
		from, lease         int64
	}
	pauses := slices.DeleteFunc(h.Strikes(), func(s *history.Strike) bool { return !s.StopsProcess || s.Failed() })
	leases := map[int64]int64{} // of acquires that are not renewed, by operation
	var holds []hold
	for _, e := range h.Events {
		of := func(x hold) bool {
			return x.client == e.Client && (e.F == history.Crashed || x.owner == e.Owner && x.lock == e.Lock)
		}
		switch {
		case e.Kind == history.Invoke && e.F == history.Acquire && e.Args != nil && e.Args.Lease > 0 && !e.Args.Renewed:
			leases[e.Op] = e.Args.Lease
		case e.Kind == history.OK && e.F == history.Acquire && leases[e.Op] > 0 && e.Time <= by:
			holds = append(holds, hold{e.Client, e.Owner, e.Lock, e.Time, leases[e.Op]})
		case e.Kind == history.Invoke && e.F == history.Write, e.Kind == history.Invoke && e.F == history.Release, e.Kind == history.Note && e.F == history.Crashed:
			if slices.ContainsFunc(holds, func(x hold) bool { return of(x) && ran(pauses, x.client, x.from, e.Time) >= x.lease*9/10 }) {
				return true
			}
			if e.F != history.Write {
				holds = slices.DeleteFunc(holds, of)
			}
		case e.Kind == history.Note && e.F == history.Lost:
			holds = slices.DeleteFunc(holds, of)
		}
	}
	return false
}

// ran is the time between two others in which the process of a client was not paused. The
// pauses are in order of time.
func ran(pauses []*history.Strike, client string, from, to int64) int64 {
	sum := to - from
	for _, p := range pauses {
		if !slices.Contains(p.Targets, client) {
			continue
		}
		if since, until := max(p.From, from), min(p.To, to); since < until {
			sum -= until - since
			from = until
		}
	}
	return sum
}
