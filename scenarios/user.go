package scenarios

import "github.com/holdfast-go/holdfast/checker/history"

// There are two kinds of user, because a lease is a contract with two sides. A careful
// user stops when the validity of its hold is over, a careless user works to the end.
// Both stop at the lock's notice of a loss, unless the workload has Carry.

// UserOf is the kind of user in the history's header. It is "" for a careless user
// who stops at the lock's notice of a loss.
func (w *Workload) UserOf() string {
	switch {
	case w.User == history.Careful:
		return history.Careful
	case w.Carry:
		return history.Careless
	}
	return ""
}

// NamesUser reports whether the scenario selects a kind of user.
func (s *Scenario) NamesUser() bool { return s.Workload.User != "" || s.Workload.Carry }

// PlayedBy returns the scenario with another kind of user; "" keeps it.
func (s *Scenario) PlayedBy(user string) *Scenario {
	if user == "" {
		return s
	}
	c := *s
	c.Workload.User = user
	return &c
}
