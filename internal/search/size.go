package search

import "cmp"

type Size struct {
	Clients int `json:"clients"`
	Holds   int `json:"holds"` // that all clients ask for together
	Ops     int `json:"ops"`   // operations of the run
	Faults  int `json:"faults"`
}

// compare orders sizes by what there is to read: clients, then faults, then operations.
func (s Size) compare(o Size) int {
	return cmp.Or(cmp.Compare(s.Clients, o.Clients), cmp.Compare(s.Faults, o.Faults), cmp.Compare(s.Ops, o.Ops))
}

// Less reports whether there is less to read in s.
func (s Size) Less(than Size) bool { return s.compare(than) < 0 }
