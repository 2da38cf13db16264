package search

import (
	"github.com/holdfast-go/holdfast/checker/history"
)

// workedPastLease reports whether a client needed some unrenewed hold, taken by a
// time, for nearly its lease or longer. The time in which its process was paused
// does not count.
func workedPastLease(h *history.History, by int64) bool {
	type hold struct{ from, lease int64 }
	stops := map[int]bool{} // faults that stop processes
	for _, f := range h.Header.Faults {
		stops[f.ID] = f.Traits.StopsProcess
	}
	leases := map[int64]int64{}  // of acquires that are not renewed, by operation
	holds := map[string][]hold{} // by client
	paused := map[string]int64{} // since when
	lost := map[string]int64{}   // time spent paused, so far
	worked := func(c string, now int64) bool {
		if since, is := paused[c]; is {
			now = since
		}
		for _, x := range holds[c] {
			if now-lost[c]-x.from >= x.lease*9/10 {
				return true
			}
		}
		return false
	}
	for _, e := range h.Events {
		switch {
		case e.Kind == history.Fault && stops[e.Fault.ID]:
			for _, c := range e.Fault.Targets {
				since, was := paused[c]
				switch {
				case e.Fault.Phase == history.PhaseStart && !was:
					paused[c] = e.Time
				case e.Fault.Phase == history.PhaseEnd && was:
					lost[c] += e.Time - since
					delete(paused, c)
				}
			}
		case e.Kind == history.Invoke && e.F == history.Acquire && e.Args != nil && e.Args.Lease > 0 && !e.Args.Renewed:
			leases[e.Op] = e.Args.Lease
		case e.Kind == history.OK && e.F == history.Acquire && leases[e.Op] > 0 && e.Time <= by:
			holds[e.Client] = append(holds[e.Client], hold{e.Time - lost[e.Client], leases[e.Op]})
		case e.Kind == history.Invoke && (e.F == history.Write || e.F == history.Release):
			if worked(e.Client, e.Time) {
				return true
			}
			if e.F == history.Release {
				holds[e.Client] = nil
			}
		case e.Kind == history.Note && e.F == history.Crashed:
			if worked(e.Client, e.Time) {
				return true
			}
			holds[e.Client] = nil
		case e.Kind == history.Note && e.F == history.Lost:
			holds[e.Client] = nil
		}
	}
	return false
}
