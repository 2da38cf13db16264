package story

import (
	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/party"
)

// Role is the role of a server from a moment on.
type Role struct {
	From     int64
	Primary  bool
	Promoted bool // something promoted it; false for the role at the start
}

// findRoles follows the roles of every server, from server events and from the faults
// that promote.
func (f *Facts) findRoles() {
	roles := map[string][]Role{}
	f.Roles = roles
	start := func(node string, primary bool) {
		if len(roles[node]) == 0 {
			roles[node] = []Role{{Primary: primary}}
		}
	}
	turn := func(node string, at int64, primary bool) {
		if all := roles[node]; all[len(all)-1].Primary != primary {
			roles[node] = append(all, Role{at, primary, primary})
		}
	}
	for i := range f.History.Events {
		e := &f.History.Events[i]
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

// IsReplica reports whether a server is a replica at a time.
func IsReplica(roles []Role, at int64) bool {
	replica := false
	for _, r := range roles {
		if r.From <= at {
			replica = !r.Primary
		}
	}
	return replica
}
