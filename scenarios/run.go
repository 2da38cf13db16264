package scenarios

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/sim"
	"github.com/holdfast-go/holdfast/sim/keyspace"
)

// Initial is what the stock starts with.
const Initial = 1000

// Played is a scenario played once.
type Played struct {
	History  *checker.History
	Virtual  time.Duration // how long it took in the world's time
	Commands int           // Redis commands that servers executed
	Scripts  int           // how many of them were scripts
}

// Play plays a scenario against a lock in the simulated world. The same
// scenario, lock, seed and version give the same history in any process, as
// long as no other Play runs in it at the same time. An error means that the
// run is worthless through a fault of the scenario or of the harness; whatever
// the lock under test does wrong is in the history.
func Play(s *Scenario, lockName string, seed uint64, version string) (*Played, error) {
	sub, err := subjectOf(lockName)
	if err != nil {
		return nil, err
	}
	if ok, reason := s.Applies(lockName); !ok {
		return nil, fmt.Errorf("scenario %s does not apply to %s: %s", s.Name, lockName, reason)
	}
	s = s.withDefaults()
	r := &run{scenario: s, subject: sub, seed: seed, top: s.topologyFor(sub)}
	bubble := sim.Bubble(r.play)
	if r.err != nil {
		return nil, fmt.Errorf("scenario %s with %s, seed %d: %w", s.Name, lockName, seed, r.err)
	}
	if r.rec == nil {
		return nil, fmt.Errorf("scenario %s with %s, seed %d: %w", s.Name, lockName, seed, bubble)
	}
	var be *sim.BubbleError
	if errors.As(bubble, &be) && len(r.end.Goroutines) == 0 {
		r.end.Goroutines = []string{be.Reason}
	}
	r.rec.end(r.end, r.took)
	h := &checker.History{Header: r.header(version), Events: r.rec.events}
	return &Played{History: h, Virtual: r.took, Commands: r.commands, Scripts: r.scripts}, nil
}

// run is one Play under way.
type run struct {
	scenario *Scenario
	subject  subject
	seed     uint64
	top      faults.Topology
	timeline *faults.Timeline

	rec      *recorder
	end      checker.EndEvent
	took     time.Duration
	commands int
	scripts  int
	err      error
}

func (r *run) header(version string) checker.Header {
	s := r.scenario
	h := checker.Header{
		Format: checker.Format, Scenario: s.Name, Lock: r.subject.name, World: "sim", Seed: r.seed, Version: version,
		Claims: r.subject.claims(s), MinGrants: s.Workload.MinGrants,
		Resource: &checker.Resource{Initial: Initial, Fenced: r.subject.fenced},
	}
	for _, p := range r.timeline.Planned() {
		h.Faults = append(h.Faults, checker.PlannedFault{ID: p.ID, Fault: p.Fault, Targets: p.Targets, When: p.When})
	}
	return h
}

// settle is how long the world gets to connect its replicas before the run
// starts, besides the time that the lag of replication takes: two ways there
// and back.
const settle = 100 * time.Millisecond

// play is the run itself, inside the bubble.
func (r *run) play() {
	s, before := r.scenario, goroutines()
	// Made in here because its channels must belong to the bubble.
	if r.timeline, r.err = faults.NewTimeline(s.Faults, r.top, r.seed); r.err != nil {
		return
	}
	who := &owners{name: map[string]string{}}
	var rec *recorder // nil while the world settles
	w := sim.New(sim.Options{
		Seed: r.seed, Clients: r.top.Clients, Groups: r.top.Groups, Replicas: r.top.Replicas, Cluster: r.top.Cluster,
		LatencyMin: time.Duration(s.Topology.Latency.Min), LatencyMax: time.Duration(s.Topology.Latency.Max),
		Lag:     time.Duration(s.Topology.Lag),
		LockKey: func(key string) bool { return key == s.Workload.Lock },
		OnChange: func(c keyspace.Change) {
			if rec != nil && c.Key == s.Workload.Lock {
				rec.add(who.serverEvent(c))
			}
		},
		OnMoment: func(m faults.Moment) { r.timeline.Moment(m) },
	})
	defer w.Close()
	time.Sleep(settle + 4*time.Duration(s.Topology.Lag))
	start := time.Now()
	rec = newRecorder(start)
	r.rec = rec

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	shared := &stock{fenced: r.subject.fenced, value: Initial}
	var clients []*client
	for i := 1; i <= r.top.Clients; i++ {
		c, err := r.newClient(w, i, who, shared)
		if err != nil {
			r.err = err
			break
		}
		clients = append(clients, c)
	}
	if r.err == nil {
		r.timeline.Start(ctx, striker{w, rec}, func(e faults.Strike) {
			rec.add(checker.Event{Kind: checker.Fault, Fault: &checker.FaultEvent{ID: e.ID, Name: e.Name, Phase: e.Phase, Targets: e.Targets, Detail: e.Detail}})
		})
		r.work(ctx, cancel, clients)
		r.timeline.Stop()
		r.quiesce(w, clients)
	}
	for _, c := range clients {
		if err := c.close(); err != nil && r.err == nil {
			r.err = err
		}
	}
	time.Sleep(time.Second) // connections close
	r.end.Connections = w.Connections()
	r.took = time.Since(start)
	r.commands, r.scripts = w.Served()
	if err := w.Err(); err != nil && r.err == nil {
		r.err = err
	}
	w.Close()
	synctest.Wait()
	r.end.Goroutines = leftover(before)
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
	case <-time.After(time.Minute): // hung for good: what is open stays open
	}
}

// horizon is the time by which every client must be done.
func (r *run) horizon() time.Duration {
	var longest time.Duration
	for i := 1; i <= r.top.Clients; i++ {
		w := r.scenario.workloadOf(i)
		once := time.Duration(w.Wait) + time.Duration(w.Think) + time.Duration(w.Rest) + 10*time.Second
		longest = max(longest, time.Duration(w.Start)+time.Duration(w.Holds)*once)
	}
	for _, f := range r.scenario.Faults {
		longest += time.Duration(f.For) + time.Duration(f.After)
	}
	return longest + time.Minute
}

// bookkeeping is how long what a lock notes beside its key, such as requests
// that a retry must not repeat, may stay behind.
const bookkeeping = time.Minute

// quiesce lets every lease run out, and looks at what remains.
func (r *run) quiesce(w *sim.World, clients []*client) {
	longest := time.Duration(0)
	for _, c := range clients {
		longest = max(longest, time.Duration(c.work.Lease))
		for _, n := range c.work.Nested {
			longest = max(longest, time.Duration(n))
		}
	}
	time.Sleep(max(longest*3/2, bookkeeping) + 5*time.Second)
	for _, k := range w.Keys() {
		if _, key, _ := strings.Cut(k, " "); !r.subject.keeps(r.scenario.Workload.Lock, key) {
			r.end.Keys = append(r.end.Keys, k)
		}
	}
	r.end.Subscriptions = w.Subscriptions()
}

// striker is the world as faults see it, with crashes noted in the history.
type striker struct {
	*sim.World
	rec *recorder
}

// Crash implements [faults.World].
func (s striker) Crash(client string) error {
	if err := s.World.Crash(client); err != nil {
		return err
	}
	s.rec.crashed(client)
	return nil
}
