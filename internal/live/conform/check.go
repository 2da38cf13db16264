package conform

import (
	"fmt"
	"slices"
	"sync"

	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// check is one sentence of the contract, and how it is tried.
type check struct {
	name     string
	contract string   // as docs/adapter-protocol.md has it
	needs    []string // the claims without which it asks too much
	// essential says that without it the other checks show nothing.
	essential bool
	// looks says that it looks at keys of Redis.
	looks bool
	// crowded says that others have all permits of a semaphore but one.
	crowded bool
	try     func(*trial)
}

func (o Options) choose(checks []check) []check {
	if len(o.Checks) == 0 {
		return checks
	}
	return slices.DeleteFunc(slices.Clone(checks), func(c check) bool { return !c.essential && !slices.Contains(o.Checks, c.name) })
}

// Names lists the names of all checks.
func Names() []string {
	return english.Words(slices.Concat(workerChecks(nil), quickChecks, leaseChecks, lastChecks), func(c check) string { return c.name })
}

// lacking is the first claim that a check needs and the lock does not make, ""
// for none.
func (c check) lacking(d locks.Description) string {
	for _, n := range c.needs {
		if !d.Claims.Has(n) {
			return n
		}
	}
	return ""
}

// A trial panics with a failure if the adapter has failed it, and with a defect if the
// trial was impossible.
type (
	failure struct{ reason string }
	defect  struct{ err error }
)

// possible ends a trial that an error has made impossible.
func possible(err error) {
	if err != nil {
		panic(defect{err})
	}
}

// got is [possible] for a value.
func got[T any](v T, err error) T {
	possible(err)
	return v
}

func (s *stage) one(c check) (r Result) {
	r = Result{Check: c.name, Status: OK, Contract: c.contract}
	if claim := c.lacking(s.lock); claim != "" {
		r.Status, r.Reason = NotClaimed, fmt.Sprintf("it does not claim %q", claim)
		return r
	}
	if c.looks && s.lock.Servers != nil {
		r.Status, r.Reason = NotTried, "it looks at keys, and the servers are no Redis"
		return r
	}
	if why := s.hopeless(); why != "" {
		r.Status, r.Reason = NotTried, why
		return r
	}
	t := &trial{stage: s, name: s.lockName(c)}
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
	if c.crowded {
		t.crowd()
	}
	c.try(t)
	t.disperse()
	return r
}

// lockName names a lock for one trial: one that has failed may have left its own
// held.
func (s *stage) lockName(c check) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trials++
	return fmt.Sprintf("check-%d:%s", s.trials, c.name)
}

func (t *trial) dismiss() {
	for _, p := range t.extras {
		t.blame(p.Kill())
	}
}

func (s *stage) inTurn(checks []check) []Result {
	var results []Result
	for _, c := range checks {
		r := s.alone(c)
		if r.Status == Failed && !c.essential {
			r = s.again(c, r)
		}
		if r.Status == Failed && c.essential {
			s.giveUp(fmt.Sprintf("what %s needs is needed here as well", c.name))
		}
		results = append(results, r)
		s.tell(r)
	}
	return results
}

// alone carries out one check. When it fails, the next one begins with other
// processes.
func (s *stage) alone(c check) Result {
	r := s.one(c)
	if r.Status == OK {
		r = s.sound(r)
	}
	if r.Status == Failed {
		s.leave()
	}
	return r
}

// again gives a failed check a second chance, because the machine may have been
// too busy for the first. The result mentions the first one.
func (s *stage) again(c check, first Result) Result {
	r := s.alone(c)
	if r.Status == OK {
		r.Reason = "at the second try; at the first: " + first.Reason
	}
	return r
}

// together carries out checks that mostly wait at the same time.
func (s *stage) together(checks []check) []Result {
	results := make([]Result, len(checks))
	var all sync.WaitGroup
	for i, c := range checks {
		all.Go(func() { results[i] = s.one(c) })
	}
	all.Wait()
	for i, c := range checks {
		if results[i].Status == Failed {
			s.leave()
			results[i] = s.again(c, results[i])
		}
		s.tell(results[i])
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
