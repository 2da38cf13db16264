package reports

import (
	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/party"
)

// role is the role of a server from a moment on.
type role struct {
	from     int64
	primary  bool
	promoted bool // something promoted it; false for the role at the start
}

// findRoles follows the roles of every server, from server events and from the faults
// that promote.
func (f *facts) findRoles() {
	roles := map[string][]role{}
	f.roles = roles
	start := func(node string, primary bool) {
		if len(roles[node]) == 0 {
			roles[node] = []role{{primary: primary}}
		}
	}
	turn := func(node string, at int64, primary bool) {
		if all := roles[node]; all[len(all)-1].primary != primary {
			roles[node] = append(all, role{at, primary, primary})
		}
	}
	for i := range f.h.Events {
		e := &f.h.Events[i]
		switch {
		case e.Kind == history.Server && e.Server != nil:
			primary := e.Server.Role != "replica"
			start(e.Server.Node, primary)
			turn(e.Server.Node, e.Time, primary)
		case e.Kind == history.Fault && e.Fault != nil:
			for _, t := range e.Fault.Targets {
				if party.IsServer(t) && party.IsReplica(t) {
					start(t, false)
				}
			}
			if e.Fault.Promoted != "" && len(e.Fault.Targets) > 0 {
				start(e.Fault.Promoted, false)
				start(e.Fault.Targets[0], true)
				turn(e.Fault.Promoted, e.Time, true)
			}
		}
	}
}

// isReplica reports whether a server is a replica at a time.
func isReplica(roles []role, at int64) bool {
	replica := false
	for _, r := range roles {
		if r.from <= at {
			replica = !r.primary
		}
	}
	return replica
}
