package scenarios

import "github.com/holdfast-go/holdfast/history"

// There are two kinds of user, because a lease is a contract with two sides. A
// careful one works until the validity of its hold is over, a careless one for as
// long as the work takes. Both stop when the lock tells them that the hold is
// lost; only one that carries on does not.

// UserOf is the kind of user that a history of the workload names. A careless user
// who heeds the lock's sign has no name: histories say nothing about it.
func (w *Workload) UserOf() string {
	switch {
	case w.User == history.Careful:
		return history.Careful
	case w.Carry:
		return history.Careless
	}
	return ""
}

// NamesUser says whether the scenario says what kind of user it is about.
func (s *Scenario) NamesUser() bool { return s.Workload.User != "" || s.Workload.Carry }

// PlayedBy is the scenario with another kind of user; "" leaves it as it is.
func (s *Scenario) PlayedBy(user string) *Scenario {
	if user == "" {
		return s
	}
	c := *s
	c.Workload.User = user
	return &c
}
