package play

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/history"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/subject"
)

// Initial is what the stock starts with.
const Initial = 1000

// Played is a scenario played once.
type Played struct {
	History  *history.History
	Took     time.Duration // how long it took in the world's time
	Commands int           // Redis commands that servers executed
	Scripts  int           // how many of them were scripts
	// Disturbed says that the machine kept the harness of a live run waiting for
	// longer than a lock can make good, though not for so long that the judges
	// would not allow it: what is not as expected may be the machine's doing.
	Disturbed bool
	// Elsewhere are the keys that clients wrote when they never wrote that of a
	// lock, in virtual time.
	Elsewhere []string
}

// Missed are the planned faults that found nothing to strike, as the history
// names them.
func (p *Played) Missed() []history.PlannedFault {
	return slices.DeleteFunc(slices.Clone(p.History.Header.Faults), func(f history.PlannedFault) bool {
		return slices.ContainsFunc(p.History.Events, func(e history.Event) bool {
			return e.Fault != nil && e.Fault.ID == f.ID && e.Fault.Phase == history.PhaseStart
		})
	})
}

// Judged is the history to judge: a fault that found nothing to strike was not
// part of the run, and the run means something without it.
func (p *Played) Judged() *history.History {
	missed := p.Missed()
	h := *p.History
	h.Header.Faults = slices.DeleteFunc(slices.Clone(h.Header.Faults), func(f history.PlannedFault) bool {
		return slices.ContainsFunc(missed, func(m history.PlannedFault) bool { return m.ID == f.ID })
	})
	return &h
}

// NothingToStrike says that a guest does not send the command of Redis that a
// fault of the scenario waits for: then the scenario is not about it.
func NothingToStrike(s *scenarios.Scenario, l *subject.Subject, p *Played) (bool, string) {
	missed := p.Missed()
	if l.ThirdParty == nil || len(missed) == 0 || !s.AboutCommands() {
		return false, ""
	}
	return true, fmt.Sprintf("%s found nothing to strike: %s", missed[0].Fault, missed[0].When)
}

// Run is one play under way, in either world.
type Run struct {
	Scenario *scenarios.Scenario
	Subject  *subject.Subject
	Seed     uint64
	Top      faults.Topology
	Timeline *faults.Timeline
	Owners   *owners
	Settle   func(who string) // lets all else of an instant happen first; nil in real time

	Rec      *Recorder
	End      history.EndEvent
	Killed   bool // some client process
	Took     time.Duration
	Commands int
	Scripts  int
	Err      error
}

// EndRecord closes the history.
func (r *Run) EndRecord() {
	r.Rec.End(r.End, r.Took)
	if r.Owners.crowded {
		r.Owners.claim(r.Rec.Start, r.Rec.Events)
	}
}

// Keeps says whether a key may remain when everybody has let go of its lock.
func (r *Run) Keeps(key string) bool {
	return slices.ContainsFunc(r.Scenario.Workload.Names(), func(name string) bool { return r.Subject.Keeps(name, key) })
}

func (r *Run) Header(version string) history.Header {
	s := r.Scenario
	h := history.Header{
		Format: history.Format, Scenario: s.Name, Lock: r.Subject.Name(), World: r.Top.World, Seed: r.Seed, Version: version,
		Claims: r.Subject.Claims(s.Setting()), MinGrants: s.Workload.MinGrants,
		Resource: &history.Resource{Initial: Initial, Fenced: r.fenced(), FencesReads: r.fencesReads()},
		User:     s.Workload.UserOf(),
	}
	if h.Unseen = r.Owners.unseen(); h.Unseen != "" || r.Subject.Bundled() != nil {
		h.Unwatched = true
	}
	if r.Top.World == sim {
		h.Order = history.TotalOrder
	}
	if s.Topology.Latency != scenarios.DefaultLatency {
		h.Latency = int64(s.Topology.Latency.Max)
	}
	if s.Scale != 1 {
		h.TimeScale = s.Scale
	}
	for _, p := range r.Timeline.Planned() {
		h.Faults = append(h.Faults, history.PlannedFault{ID: p.ID, Fault: p.Fault, Targets: p.Targets, When: p.When, Traits: p.Traits})
	}
	return h
}

// Striking records what a fault does, where it begins to.
func (r *Run) Striking() (tell func(faults.Strike)) {
	fill := r.Rec.reserve()
	return func(e faults.Strike) {
		fill(history.Event{Kind: history.Fault, Fault: &history.FaultEvent{ID: e.ID, Name: e.Name, Phase: e.Phase, Targets: e.Targets, Detail: e.Detail}})
	}
}

// Work runs every client to its end, or to the horizon: by then every bounded
// wait is over, and who has not returned never will.
func (r *Run) Work(ctx context.Context, cancel context.CancelFunc, clients []*Client) {
	var all sync.WaitGroup
	for _, c := range clients {
		all.Go(func() { c.run(ctx) })
		if d := time.Duration(c.work.Close); d > 0 {
			all.Go(func() {
				c.sleep(ctx, d)
				c.shutdown()
			})
		}
	}
	done := make(chan struct{})
	go func() {
		all.Wait()
		close(done)
	}()
	select {
	case <-done:
		return
	case <-time.After(r.horizon()):
	}
	cancel()
	select {
	case <-done:
	case <-time.After(r.Scenario.Scaled(time.Minute)): // hung for good: what is open stays open
	}
}

// horizon is the time by which every client must be done.
func (r *Run) horizon() time.Duration {
	var longest time.Duration
	for i := 1; i <= r.Top.Clients; i++ {
		w := r.Scenario.WorkloadOf(i)
		once := time.Duration(w.Wait) + time.Duration(w.Think) + time.Duration(w.Rest) + r.Scenario.Scaled(10*time.Second)
		longest = max(longest, time.Duration(w.Start)+time.Duration(w.Holds)*once)
	}
	for _, f := range r.Scenario.Faults {
		longest += time.Duration(f.For) + time.Duration(f.After) + time.Duration(f.Within)
	}
	return longest + r.Scenario.Scaled(time.Minute)
}

// Bookkeeping is how long what a lock notes beside its key, such as requests
// that a retry must not repeat, may stay behind.
const Bookkeeping = time.Minute

// sim is the world in which one recorder stamps every event.
const sim = "sim"

// LongestLease is the longest lease that any client asks for.
func LongestLease(clients []*Client) time.Duration {
	longest := time.Duration(0)
	for _, c := range clients {
		longest = max(longest, time.Duration(c.work.Lease))
		for _, n := range c.work.Nested {
			longest = max(longest, time.Duration(n))
		}
	}
	return longest
}

// defaultLease is the lease of a client's acquires that ask for none. Where the
// workload asks for each of them, it is another: a lock that ignores what it was
// asked for is found out. Built-in locks are known not to.
func (r *Run) defaultLease(w scenarios.Workload) time.Duration {
	if w.Explicit && r.Subject.ThirdParty != nil {
		return 2 * time.Duration(w.Lease)
	}
	return time.Duration(w.Lease)
}

// Environment is what the lock gets in client n, but for its connections.
func (r *Run) Environment(n int, process string) subject.Environment {
	work := r.Scenario.WorkloadOf(n)
	return subject.Environment{
		Process: process, Seed: r.Seed, Lease: r.defaultLease(work), Poll: time.Duration(work.Poll),
		Replicas: r.Top.Replicas, Acks: work.Acks, Scale: r.Scenario.Scale,
	}
}
