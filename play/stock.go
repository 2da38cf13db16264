package play

import "sync"

// Stock is the guarded resource: a register on a machine of its own that
// every critical section takes one from. Fenced, it refuses a write whose
// token is older than one it has seen, and FencesReads a read as well: as a
// transaction would, it sees the token with the first access.
type Stock struct {
	Fenced      bool
	FencesReads bool

	mu    sync.Mutex
	Value int64
	token uint64
}

// read returns the stock; false means refused.
func (s *Stock) read(token uint64) (is int64, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Value, !s.FencesReads || s.admits(token)
}

// admits reports whether no newer token was seen.
func (s *Stock) admits(token uint64) bool {
	if token < s.token {
		return false
	}
	s.token = token
	return true
}

// write stores v and returns what it overwrote; false means refused.
func (s *Stock) write(v int64, token uint64) (was int64, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Fenced && !s.admits(token) {
		return s.Value, false
	}
	was, s.Value = s.Value, v
	return was, true
}

// fenced reports whether the resources check tokens. Each lock guards a resource
// of its own, for tokens of different locks have no order.
func (r *Run) fenced() bool { return r.Subject.Fenced }

// fencesReads reports whether the stock looks at the tokens of reads: for locks
// that are not built in, as the histories of the others are as they always were.
func (r *Run) fencesReads() bool { return r.fenced() && r.Subject.ThirdParty != nil }

// NewStocks are the guarded resources of the run, one for each lock, by its name.
// They check the tokens of reads for locks that are not built in: the histories of
// the others are as they always were.
func (r *Run) NewStocks() map[string]*Stock {
	all := map[string]*Stock{}
	for _, name := range r.Scenario.Workload.Names() {
		all[name] = &Stock{Fenced: r.fenced(), FencesReads: r.fencesReads(), Value: Initial}
	}
	return all
}
