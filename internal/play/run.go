package play

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/internal/redis/profile"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// Initial is the first value of the stock.
const Initial = 1000

type Played struct {
	History *history.History
	Took    time.Duration // how long it took in the world's time
	// Overran says that some client had not finished by the horizon, which ends all
	// faults.
	Overran  bool
	Commands int // Redis commands that servers executed
	Scripts  int // how many of them were scripts
	// Disturbed says that the machine kept the harness of a live run waiting for longer
	// than a lock can make good. It was not so long that the judges would not allow it.
	// An unexpected verdict may be the machine's doing.
	Disturbed bool
	// ReadsClock says that the lock has asked for the time of a client, in virtual time. In
	// real time it says that a process of the lock would notice a wrong clock.
	ReadsClock bool
	// Elsewhere are the keys that clients wrote when they never wrote that of a
	// lock, in virtual time.
	Elsewhere []string
}

// Missed are the planned faults without a target, as in the header of the history.
func (p *Played) Missed() []history.PlannedFault {
	return slices.DeleteFunc(slices.Clone(p.History.Header.Faults), func(f history.PlannedFault) bool {
		return slices.ContainsFunc(p.History.Events, func(e history.Event) bool {
			return e.Fault != nil && e.Fault.ID == f.ID && e.Fault.Phase == history.PhaseStart
		})
	})
}

// Judged is the history for the judges. It omits faults without a target, so that
// the run can prove something without them.
func (p *Played) Judged() *history.History {
	missed := p.Missed()
	h := *p.History
	h.Header.Faults = slices.DeleteFunc(slices.Clone(h.Header.Faults), func(f history.PlannedFault) bool {
		return slices.ContainsFunc(missed, func(m history.PlannedFault) bool { return m.ID == f.ID })
	})
	return &h
}

// NothingToStrike reports whether a third-party lock never sent the command for which a
// fault waits, or never asked for the time of a client. Then the scenario does not apply
// to it. The string is the reason.
func NothingToStrike(s *scenarios.Scenario, l *locks.Lock, p *Played) (bool, string) {
	missed := p.Missed()
	if l.ThirdParty != nil && !p.ReadsClock && s.Has(func(t history.Traits) bool { return t.MovesClientClock }) {
		return true, "a fault moves the clock of a client, and the lock never asked for Client.Now"
	}
	if l.ThirdParty == nil || len(missed) == 0 || !s.AboutCommands() {
		return false, ""
	}
	return true, fmt.Sprintf("%s found nothing to strike: %s", missed[0].Fault, missed[0].When)
}

// Run is one play in progress, in either world.
type Run struct {
	Scenario *scenarios.Scenario
	Lock     *locks.Lock
	Seed     uint64
	Top      faults.Topology
	Schedule *faults.Schedule
	Owners   *owners
	Settle   func(who string) // lets all else of an instant happen first; nil in real time
	// Early is the time before the end of its validity at which a careful user stops. A
	// timer of a real machine may be late.
	Early time.Duration

	Rec    *Recorder
	End    history.EndEvent
	Killed bool // some client process
	// ReadsClock says that the lock has asked for the time of a client, in virtual time.
	ReadsClock bool
	Took       time.Duration
	Overran    bool // some client had not finished by the horizon
	Commands   int
	Scripts    int
	Err        error
}

func (r *Run) EndRecord() {
	r.Rec.End(r.End, r.Took)
	r.Rec.Events = r.Owners.resolve(r.Rec.Start, r.Rec.Events)
}

// Leftover reports whether a key remains after all releases of its lock that should not.
// The lock does not keep such a key on purpose, and it is no bookkeeping that expires. A
// server that is behind gives a key more time. ttl is 0 or less for a key without an
// expiry.
func (r *Run) Leftover(key string, ttl time.Duration) bool {
	bearable := bookkeeping
	for _, f := range r.Scenario.Faults {
		if t := f.Traits(); t.MovesClock {
			bearable -= time.Duration(min(t.ClockJump, 0))
		}
	}
	if !r.Owners.IsLock(key) && ttl > 0 && ttl <= bearable {
		return false
	}
	return !slices.ContainsFunc(r.Scenario.Workload.Names(), func(name string) bool { return r.Lock.Keeps(name, key) })
}

// Header describes the run. Before the end, it is that of the run so far.
func (r *Run) Header(version string) history.Header {
	s := r.Scenario
	h := history.Header{
		Format: history.Format, Scenario: s.Name, Lock: r.Lock.Name(), World: r.Top.World, Seed: r.Seed, Version: version,
		Claims: r.Lock.Terms(s.Setting()), MinGrants: s.Workload.MinGrants,
		User: s.Workload.UserOf(),
	}
	if r.hasStock() {
		h.Resource = &history.Resource{Initial: Initial, Fenced: r.fenced(), FencesReads: r.fencesReads()}
	}
	if s.Workload.Observe == 0 {
		h.Claims.Observes = false // no client asks
	}
	if h.Unseen = r.Owners.unseen(); h.Unseen != "" || r.Lock.Bundled() != nil {
		h.Unwatched = true
	}
	if r.Top.World == simulated {
		h.Order = history.TotalOrder
		if name := r.Lock.Server().Name; name != profile.Default {
			h.Server = name
		}
	}
	if s.Topology.Latency != scenarios.DefaultLatency {
		h.Latency = int64(s.Topology.Latency.Max)
	}
	if s.Scale != 1 {
		h.TimeScale = s.Scale
	}
	h.Faults = r.Schedule.Planned()
	return h
}

// Striking reserves the place of a strike in the history at its start, and returns
// the function that records it.
func (r *Run) Striking() (tell func(history.FaultEvent)) {
	fill := r.Rec.reserve()
	return func(e history.FaultEvent) { fill(history.Event{Kind: history.Fault, Fault: &e}) }
}

// Work runs every client to its end, or to the horizon. By then every bounded wait
// is over. A client that is left waits for the end of a fault, which comes then, or
// never returns.
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
	r.Overran = true
	r.Schedule.Stop()
	select {
	case <-done:
		return
	case <-time.After(r.Scenario.Scaled(aftermath)):
	}
	cancel()
	select {
	case <-done:
	case <-time.After(r.Scenario.Scaled(time.Minute)): // hung for good: what is open stays open
	}
}

// aftermath is the time in which a client settles what a fault has kept open: one
// request that times out, and one that does not.
const aftermath = 15 * time.Second

// horizon is the time by which every client must finish.
func (r *Run) horizon() time.Duration {
	var longest time.Duration
	for i := 1; i <= r.Top.Clients; i++ {
		w := r.Scenario.WorkloadOf(i)
		once := time.Duration(w.Sections())*time.Duration(w.Wait+w.Think) + time.Duration(w.Rest) + r.Scenario.Scaled(10*time.Second)
		longest = max(longest, time.Duration(w.Start)+time.Duration(w.Holds)*once)
	}
	for _, f := range r.Scenario.Faults {
		longest += time.Duration(f.For) + time.Duration(f.After) + time.Duration(f.Within)
	}
	return longest + r.Scenario.Scaled(time.Minute)
}

// bookkeeping is the time for which auxiliary keys of a lock may remain, such as records
// of requests that a retry must not repeat.
const bookkeeping = time.Minute

// simulated is the world in which one recorder stamps every event.
const simulated = "sim"

func LongestLease(clients []*Client) time.Duration {
	longest := time.Duration(0)
	for _, c := range clients {
		longest = max(longest, time.Duration(c.work.Lease), time.Duration(c.work.Extend))
		for _, n := range c.work.Nested {
			longest = max(longest, time.Duration(n))
		}
	}
	return longest
}

// defaultLease is the lease of acquires without an explicit one. If the workload
// requests a lease for each acquire, the default differs, so that a lock which
// ignores the request is detected. Built-in locks are known to respect it.
func (r *Run) defaultLease(w scenarios.Workload) time.Duration {
	if w.Explicit && r.Lock.ThirdParty != nil && r.Lock.Claims.Explicit {
		return 2 * time.Duration(w.Lease)
	}
	return time.Duration(w.Lease)
}

// Environment is the environment of the lock in client n, without its connections.
func (r *Run) Environment(n int, process string) locks.Environment {
	work := r.Scenario.WorkloadOf(n)
	return locks.Environment{
		Process: process, Seed: r.Seed, Lease: r.defaultLease(work), Poll: time.Duration(work.Poll),
		Replicas: r.Top.Replicas, Acks: work.Acks, Scale: r.Scenario.Scale,
	}
}
