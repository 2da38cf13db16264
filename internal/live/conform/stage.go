package conform

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/internal/adapter"
	"github.com/holdfast-go/holdfast/internal/live"
	"github.com/holdfast-go/holdfast/internal/live/processes"
	"github.com/holdfast-go/holdfast/internal/party"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

const (
	// mostProcesses bounds the processes for one lock.
	mostProcesses = 60
	// scale is the length of a second of a scenario, as in most runs.
	scale = 0.2
	// slack is the delay that a busy machine may add to any time.
	slack = time.Second
)

// stage is where the checks of one lock play: servers, and processes.
type stage struct {
	ctx   context.Context
	opts  Options
	lock  locks.Description // without a name for checks of the adapter itself
	world *live.World       // nil for those

	casting sync.Mutex // held while a shared process is started
	shared  [2]*player // what most checks use

	mu     sync.Mutex
	cast   int // processes so far
	trials int
	why    string // the other checks would show nothing
	err    error  // what went wrong on this side
}

type player struct {
	*processes.Process
	access adapter.Access
}

// startTime is the time that a process may take to answer first: a virtual machine may
// have to come up.
func (s *stage) startTime() time.Duration { return 3 * s.opts.Patience }

func (s *stage) play() []Result {
	results := s.inTurn(s.opts.choose(quickChecks))
	results = append(results, s.together(s.opts.choose(leaseChecks))...)
	results = append(results, s.inTurn(s.opts.choose(lastChecks))...)
	s.leave()
	return results
}

func (s *stage) giveUp(why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.why = cmp.Or(s.why, why)
}

// hopeless says why nothing more can be tried, "" as long as it can.
func (s *stage) hopeless() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil {
		return s.ctx.Err().Error()
	}
	return s.why
}

// blame notes what went wrong on this side; nil is nothing.
func (s *stage) blame(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = errors.Join(s.err, err)
}

func (t *trial) start() *player {
	t.mu.Lock()
	t.cast++
	number := t.cast
	t.mu.Unlock()
	return got(t.enter(number))
}

func (s *stage) enter(number int) (p *player, err error) {
	if number > mostProcesses {
		return nil, fmt.Errorf("%d processes have not been enough", mostProcesses)
	}
	name := party.Client(number)
	p = &player{}
	if s.world == nil {
		dir, err := os.MkdirTemp(s.opts.Dir, name+"-")
		if err != nil {
			return nil, err
		}
		p.Process, err = processes.Start(name, dir, s.opts.Command, nil)
		return p, err
	}
	if p.access, err = s.world.Access(name); err != nil {
		return nil, err
	}
	p.access.TimeScale = scale
	p.Process, err = s.world.StartProcess(s.ctx, name, s.opts.Command, nil)
	return p, err
}

func (s *stage) hello(p *player) adapter.Hello {
	return adapter.Hello{Protocol: adapter.Protocol, Process: p.Name(), Lock: s.lock.Name, Seed: 7, LeaseNS: s.opts.Lease.Nanoseconds(), Redis: p.access}
}

func (t *trial) greet(p *player, hello any) {
	a := t.within(t.startTime(), t.send(p, message{"do": "hello", "hello": hello}))
	if !a.OK {
		t.fail("hello is answered with %s", a)
	}
	if a.Protocol != adapter.Protocol {
		t.fail("the answer to hello does not have the protocol %q: %s", adapter.Protocol, a)
	}
}

// extra starts a process for this trial alone.
func (t *trial) extra() *player {
	p := t.start()
	t.extras = append(t.extras, p)
	return p
}

func (t *trial) fresh() *player {
	p := t.extra()
	t.greet(p, t.hello(p))
	return p
}

// first and second are two processes that most checks share.
func (t *trial) first() *player  { return t.sharer(0) }
func (t *trial) second() *player { return t.sharer(1) }

func (t *trial) sharer(i int) *player {
	t.casting.Lock()
	defer t.casting.Unlock()
	if t.shared[i] == nil {
		p := t.start()
		t.shared[i] = p
		t.greet(p, t.hello(p))
	}
	return t.shared[i]
}

// sound makes a success a failure when a process that is shared does not answer
// any more: what it wrote too much shows then.
func (s *stage) sound(r Result) Result {
	for _, p := range s.shared {
		if p == nil {
			continue
		}
		after := s.one(check{name: r.Check, contract: r.Contract, try: func(t *trial) {
			t.ask(p, message{"do": "identity", "thread": "sound"})
		}})
		if after.Status == Failed {
			after.Reason = "after it: " + after.Reason
			return after
		}
	}
	return r
}

func (s *stage) leave() {
	for i, p := range s.shared {
		if p != nil {
			s.blame(p.Kill())
			s.shared[i] = nil
		}
	}
}
