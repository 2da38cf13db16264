package checker

import "fmt"

// vacuous says why a run proves nothing, or "". A test in which nothing
// happened must not count as a test that was passed.
func vacuous(t *trace) string {
	started, failed := map[int]bool{}, map[int]string{}
	for i := range t.h.Events {
		if e := &t.h.Events[i]; e.Kind == Fault {
			switch e.Fault.Phase {
			case PhaseStart:
				started[e.Fault.ID] = true
			case PhaseFailed:
				failed[e.Fault.ID] = e.Fault.Detail
			}
		}
	}
	for _, f := range t.h.Header.Faults {
		if started[f.ID] {
			continue
		}
		detail, tried := failed[f.ID]
		switch {
		case !tried:
			return fmt.Sprintf("fault %d (%s) never struck", f.ID, f.Fault)
		case detail == "":
			return fmt.Sprintf("fault %d (%s) could not strike", f.ID, f.Fault)
		default:
			return fmt.Sprintf("fault %d (%s) could not strike: %s", f.ID, f.Fault, detail)
		}
	}
	invoked, succeeded := map[Func]bool{}, map[Func]bool{}
	grants := 0
	for _, o := range t.ops {
		invoked[o.f] = true
		if o.kind == OK {
			succeeded[o.f] = true
			if o.f == Acquire {
				grants++
			}
		}
	}
	for _, f := range []Func{Acquire, Release, Read, Write} {
		if invoked[f] && !succeeded[f] {
			return fmt.Sprintf("no %s succeeded", f)
		}
	}
	if want := max(t.h.Header.MinGrants, 1); grants < want {
		return fmt.Sprintf("only %s; a run means something from %d on", plural(grants, "grant"), want)
	}
	return ""
}
