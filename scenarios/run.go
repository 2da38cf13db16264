package scenarios

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/history"
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
	// Seen is what was asked for with [PlayWatched]; nil when nothing was.
	Seen *Seen
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

// NothingToStrike says that a guest does not send the command of Redis that a
// fault of the scenario waits for: then the scenario is not about it.
func (s *Scenario) NothingToStrike(l *Subject, p *Played) (bool, string) {
	missed := p.Missed()
	if l.thirdParty == nil || len(missed) == 0 || !s.aboutCommands() {
		return false, ""
	}
	return true, fmt.Sprintf("%s found nothing to strike: %s", missed[0].Fault, missed[0].When)
}

// run is one play under way, in either world.
type run struct {
	scenario *Scenario
	subject  *Subject
	seed     uint64
	top      faults.Topology
	timeline *faults.Timeline
	owners   *owners
	watch    *watch           // nil when nobody looks
	settle   func(who string) // lets all else of an instant happen first; nil in real time

	rec      *recorder
	end      history.EndEvent
	killed   bool // some client process
	took     time.Duration
	commands int
	scripts  int
	err      error
}

func (r *run) header(version string) history.Header {
	s := r.scenario
	h := history.Header{
		Format: history.Format, Scenario: s.Name, Lock: r.subject.name, World: r.top.World, Seed: r.seed, Version: version,
		Claims: r.subject.claims(s.setting()), MinGrants: s.Workload.MinGrants,
		Unwatched: r.subject.Bundled() != nil, Resource: &history.Resource{Initial: Initial, Fenced: r.subject.fenced},
	}
	if s.Topology.Latency != defaultLatency {
		h.Latency = int64(s.Topology.Latency.Max)
	}
	if s.scale != 1 {
		h.TimeScale = s.scale
	}
	for _, p := range r.timeline.Planned() {
		h.Faults = append(h.Faults, history.PlannedFault{ID: p.ID, Fault: p.Fault, Targets: p.Targets, When: p.When})
	}
	return h
}

// striking records what a fault does, where it begins to.
func (r *run) striking() (tell func(faults.Strike)) {
	fill := r.rec.reserve()
	return func(e faults.Strike) {
		fill(history.Event{Kind: history.Fault, Fault: &history.FaultEvent{ID: e.ID, Name: e.Name, Phase: e.Phase, Targets: e.Targets, Detail: e.Detail}})
	}
}

// work runs every client to its end, or to the horizon: by then every bounded
// wait is over, and who has not returned never will.
func (r *run) work(ctx context.Context, cancel context.CancelFunc, clients []*client) {
	var all sync.WaitGroup
	for _, c := range clients {
		all.Go(func() { c.run(ctx) })
		if d := time.Duration(c.work.Close); d > 0 {
			all.Go(func() {
				c.sleep(ctx, d)
				if r.settle != nil { // a fault may strike at this very time
					r.settle(c.proc.Name())
				}
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
	case <-time.After(r.scenario.pace(time.Minute)): // hung for good: what is open stays open
	}
}

// horizon is the time by which every client must be done.
func (r *run) horizon() time.Duration {
	var longest time.Duration
	for i := 1; i <= r.top.Clients; i++ {
		w := r.scenario.workloadOf(i)
		once := time.Duration(w.Wait) + time.Duration(w.Think) + time.Duration(w.Rest) + r.scenario.pace(10*time.Second)
		longest = max(longest, time.Duration(w.Start)+time.Duration(w.Holds)*once)
	}
	for _, f := range r.scenario.Faults {
		longest += time.Duration(f.For) + time.Duration(f.After) + time.Duration(f.Within)
	}
	return longest + r.scenario.pace(time.Minute)
}

// bookkeeping is how long what a lock notes beside its key, such as requests
// that a retry must not repeat, may stay behind.
const bookkeeping = time.Minute

// longestLease is the longest lease that any client asks for.
func longestLease(clients []*client) time.Duration {
	longest := time.Duration(0)
	for _, c := range clients {
		longest = max(longest, time.Duration(c.work.Lease))
		for _, n := range c.work.Nested {
			longest = max(longest, time.Duration(n))
		}
	}
	return longest
}
