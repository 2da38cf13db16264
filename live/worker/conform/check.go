package conform

import (
	"encoding/json"
	"fmt"
	"sync"

	"github.com/holdfast-go/holdfast/live/worker"
)

// check is one sentence of the contract, and how it is tried.
type check struct {
	name     string
	contract string   // as docs/worker-protocol.md has it
	needs    []string // the claims without which it asks too much
	// essential says that nothing else can be told when it fails.
	essential bool
	try       func(*trial)
}

// lacking is the first claim that a check needs and the lock does not make, ""
// for none.
func (c check) lacking(d worker.Description) string {
	claims := map[string]bool{}
	text, err := json.Marshal(d.Claims)
	if err == nil {
		err = json.Unmarshal(text, &claims)
	}
	if err != nil {
		panic(err) // claims are a struct of bools
	}
	for _, n := range c.needs {
		if !claims[n] {
			return n
		}
	}
	return ""
}

// failure is what a trial panics with when the worker has failed it; defect is
// what it panics with when it could not be carried out.
type (
	failure struct{ reason string }
	defect  struct{ err error }
)

// one carries out one check.
func (s *stage) one(c check) (r Result) {
	r = Result{Check: c.name, Status: OK, Contract: c.contract}
	if claim := c.lacking(s.lock); claim != "" {
		r.Status, r.Reason = NotClaimed, fmt.Sprintf("it does not claim %q", claim)
		return r
	}
	if why := s.hopeless(); why != "" {
		r.Status, r.Reason = NotTried, why
		return r
	}
	t := &trial{stage: s, name: "check:" + c.name}
	defer t.dismiss()
	defer func() {
		switch p := recover().(type) {
		case nil:
			r.Reason = t.remark
		case failure:
			r.Status, r.Reason = Failed, p.reason
		case defect:
			r.Status, r.Reason = NotTried, p.err.Error()
			s.blame(p.err)
		default:
			panic(p)
		}
	}()
	c.try(t)
	return r
}

// dismiss ends the processes of a trial.
func (t *trial) dismiss() {
	for _, p := range t.extras {
		if err := p.Kill(); err != nil {
			t.blame(err)
		}
	}
}

// inTurn carries out checks one after the other. One that fails leaves the
// processes behind: the next one begins with others.
func (s *stage) inTurn(checks []check) []Result {
	var results []Result
	for _, c := range checks {
		r := s.one(c)
		if r.Status == OK {
			r = s.sound(r)
		}
		if r.Status == Failed {
			s.leave()
			if c.essential {
				s.giveUp(fmt.Sprintf("what %s needs is needed here as well", c.name))
			}
		}
		results = append(results, r)
		s.tell(r)
	}
	return results
}

// together carries out checks that mostly wait at the same time.
func (s *stage) together(checks []check) []Result {
	results := make([]Result, len(checks))
	var all sync.WaitGroup
	for i, c := range checks {
		all.Go(func() { results[i] = s.one(c) })
	}
	all.Wait()
	failed := false
	for _, r := range results {
		failed = failed || r.Status == Failed
		s.tell(r)
	}
	if failed {
		s.leave()
	}
	return results
}

func (s *stage) tell(r Result) {
	if s.opts.Heard == nil {
		return
	}
	if s.lock.Name == "" {
		s.opts.Heard(nil, r)
		return
	}
	s.opts.Heard(&s.lock, r)
}
