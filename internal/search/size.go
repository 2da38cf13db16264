package search

import "cmp"

// Size is the size of a scenario.
type Size struct {
	Clients int `json:"clients"`
	Holds   int `json:"holds"` // that all clients ask for together
	Ops     int `json:"ops"`   // operations of the run
	Faults  int `json:"faults"`
}

// Less reports whether there is less to read in s: fewer clients, then fewer
// faults, then fewer operations.
func (s Size) Less(than Size) bool {
	return cmp.Or(cmp.Compare(s.Clients, than.Clients), cmp.Compare(s.Faults, than.Faults), cmp.Compare(s.Ops, than.Ops)) < 0
}
