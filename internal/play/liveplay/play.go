package liveplay

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/Shopify/toxiproxy/v2/stream"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/internal/adapter"
	"github.com/holdfast-go/holdfast/internal/live"
	"github.com/holdfast-go/holdfast/internal/live/processes"
	"github.com/holdfast-go/holdfast/internal/live/servers"
	"github.com/holdfast-go/holdfast/internal/party"
	"github.com/holdfast-go/holdfast/internal/play"
	"github.com/holdfast-go/holdfast/internal/random"
	"github.com/holdfast-go/holdfast/internal/redis/keyspace"
	"github.com/holdfast-go/holdfast/internal/toxics"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// Live are the settings of a play in the real world.
type Live struct {
	// Backend is the kind of the servers. It must carry the scenario, see [Carries].
	Backend servers.Backend
	// Dir is where the servers run; it must exist.
	Dir string
	// Processes are the adapter processes of the clients, one after the other, and
	// the first again after the last. One is enough but for a mix of locks.
	Processes []AdapterProcess
	// Greeting bounds how long a client process may take to answer its hello; 0
	// is a minute.
	Greeting time.Duration
	// Journal is a file that the history is written to while the run lasts,
	// and that is removed at its end; empty for none.
	Journal string
	// Scale is the factor for every time of the scenario; 0 is the scenario's own pace.
	Scale float64
}

// AdapterProcess is a process that serves the lock of a client.
type AdapterProcess struct {
	// Lock is the name of the lock that it is to open.
	Lock string
	// Command starts a process that speaks the protocol of package adapter on
	// its stdin and stdout.
	Command []string
}

// SetupError reports that the real world could not play a run. It says nothing
// about the lock.
type SetupError struct{ Err error }

func (e *SetupError) Error() string { return "the run could not be set up: " + e.Err.Error() }

func (e *SetupError) Unwrap() error { return e.Err }

// SlowMachineError reports that the machine delayed the harness for so long that
// the run proves nothing.
type SlowMachineError struct {
	Late, Allowed time.Duration
	Err           error // what it led to, if that was noticed
}

func (e *SlowMachineError) Error() string {
	words := fmt.Sprintf("the machine was too busy: the harness got its turn %s late, and more than %s is no fault of the lock's",
		e.Late.Round(time.Millisecond), e.Allowed)
	if e.Err != nil {
		words += ": " + e.Err.Error()
	}
	return words
}

func (e *SlowMachineError) Unwrap() error { return e.Err }

const (
	// setupLimit bounds the start of servers and client processes.
	setupLimit = time.Minute
	// detect is the time of silence after which a server is taken for dead.
	detect = time.Second
)

// PlayLive plays a scenario against a lock on real servers, with real client
// processes, in real time. It returns a [*SetupError] or a [*SlowMachineError] if
// the run says nothing about the lock.
func PlayLive(ctx context.Context, s *scenarios.Scenario, l *locks.Lock, seed uint64, version string, o Live) (*play.Played, error) {
	if err := s.Check(l); err != nil {
		return nil, err
	}
	if o.Scale == 0 {
		o.Scale = pace(s, l)
	}
	needs := needsOf(s, l)
	s = s.WithDefaults().AtScale(o.Scale)
	if o.Backend.External != nil {
		s.Workload.Lock, s.Workload.Locks = privateName(s.Workload.Names()[0]), nil
	}
	r := &play.Run{Scenario: s, Lock: l, Seed: seed, Top: liveTopology(s, l, needs, o.Backend.External), Owners: play.NewOwners(s, l), Early: bearable(s.Scale)}
	var err error
	if r.Schedule, err = faults.NewSchedule(s.Faults, r.Top, seed); err != nil {
		return nil, err
	}
	run := &liveRun{Run: r, opts: o, needs: needs}
	if err := run.play(ctx, version); err != nil {
		return nil, err
	}
	return &play.Played{History: &history.History{Header: r.Header(version), Events: r.Rec.Events}, Took: r.Took, ReadsClock: run.needs.wall, Disturbed: run.late > bearable(s.Scale)}, nil
}

type liveRun struct {
	*play.Run
	opts    Live
	needs   needs
	world   *live.World
	truth   *live.Truth
	slowed  []func() // what ends the latency of links
	procs   []*processes.Process
	clients []*play.Client
	late    time.Duration // the harness had to wait for its turn

	recording sync.Mutex // guards rec until the clients are there
}

func (l *liveRun) play(ctx context.Context, version string) (err error) {
	setup, cancel := context.WithTimeout(ctx, setupLimit)
	defer cancel()
	stalls := startStallDetector(time.Now)
	err = l.setUp(setup)
	late, allowed := stalls.stop(), stallAllowed(l.Scenario.Scale)
	switch {
	case err != nil && late > allowed && ctx.Err() == nil:
		return &SlowMachineError{Late: late, Allowed: allowed, Err: errors.Join(err, l.takeDown())}
	case err != nil:
		return &SetupError{errors.Join(err, l.takeDown())}
	}
	defer func() {
		if failed := l.takeDown(); failed != nil && err == nil {
			err = &SetupError{failed}
		}
	}()
	j, err := openJournal(l.opts.Journal, l.Header(version), l.Rec)
	if err != nil {
		return err
	}
	stalls = startStallDetector(time.Now)
	l.perform(ctx)
	l.late = stalls.stop()
	err = errors.Join(l.world.Err(), l.truth.Err(), l.Err)
	switch {
	case ctx.Err() != nil:
		err = ctx.Err()
	case err != nil && l.late > bearable(l.Scenario.Scale):
		err = &SlowMachineError{Late: l.late, Allowed: bearable(l.Scenario.Scale), Err: err}
	case err != nil:
		err = &SetupError{err}
	case l.late > stallAllowed(l.Scenario.Scale):
		err = &SlowMachineError{Late: l.late, Allowed: stallAllowed(l.Scenario.Scale)}
	}
	if err == nil {
		err = l.addLogs()
		l.EndRecord()
	}
	return errors.Join(err, j.close())
}

// setUp starts the servers, observes their keys, and starts the clients.
func (l *liveRun) setUp(ctx context.Context) (err error) {
	backend, err := l.backend(ctx)
	if err != nil {
		return err
	}
	l.world, err = live.NewWorld(ctx, live.WorldOptions{
		Options: servers.Options{
			Backend: backend, Clients: l.Top.Clients, Groups: l.Top.Groups, Replicas: l.Top.Replicas, Cluster: l.Top.Cluster,
			Sentinel: l.needs.sentinels, Persist: l.needs.persist, Clocks: l.needs.clocks, ClientClocks: l.needs.wall, User: l.needs.user, Detect: detect, Dir: l.opts.Dir,
		},
		LockKeys: l.Owners.Keys(), OnMoment: l.moments(), Changed: func(node, from, command string) bool { return l.truth.Changed(node, from, command) },
	})
	if err != nil {
		return err
	}
	l.truth, err = l.world.Observe(l.Owners.IsLock, l.changed)
	if err != nil {
		return err
	}
	if err := l.slowDown(); err != nil {
		return err
	}
	sessions := make([]*remoteSession, l.Top.Clients)
	l.procs = make([]*processes.Process, l.Top.Clients)
	errs := make([]error, l.Top.Clients)
	var all sync.WaitGroup
	for i := range l.Top.Clients {
		all.Go(func() { l.procs[i], sessions[i], errs[i] = l.startClient(ctx, i+1) })
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	l.recording.Lock()
	l.Rec = play.NewRecorder(time.Now())
	l.recording.Unlock()
	shared := l.NewStocks()
	for i, p := range l.procs {
		l.clients = append(l.clients, l.NewClient(i+1, p.Process, sessions[i], shared, random.Stream(l.Seed, "workload", p.Name())))
	}
	return nil
}

// moments is the handler of requests at servers; nil if no fault waits for one.
func (l *liveRun) moments() func(faults.Moment) {
	if !l.needs.moments {
		return nil
	}
	return l.Schedule.Moment
}

// slowDown gives the links the latency and lag of the scenario, or those of loopback.
func (l *liveRun) slowDown() error {
	t := l.Scenario.Topology
	slow := func(link faults.Link, dir stream.Direction, least, most faults.Duration) error {
		off, err := l.world.Attach(link, dir, &toxics.Delay{By: time.Duration(least+most) / 2, Jitter: time.Duration(most-least) / 2, Seed: l.Seed})
		if err == nil {
			l.slowed = append(l.slowed, off)
		}
		return err
	}
	var errs []error
	for _, node := range l.world.Nodes() {
		for c := 1; c <= l.Top.Clients && t.Latency != scenarios.DefaultLatency; c++ {
			link := faults.Link{From: party.Client(c), To: node}
			errs = append(errs, slow(link, stream.Upstream, t.Latency.Min, t.Latency.Max), slow(link, stream.Downstream, t.Latency.Min, t.Latency.Max))
		}
		if primary := party.First(node); primary != node && t.Lag > 0 {
			errs = append(errs, slow(faults.Link{From: node, To: primary}, stream.Downstream, t.Lag, t.Lag))
		}
	}
	return errors.Join(errs...)
}

// changed records a change of the lock's key on a server.
func (l *liveRun) changed(c keyspace.Change) {
	l.recording.Lock()
	rec := l.Rec
	l.recording.Unlock()
	if rec != nil {
		for _, e := range l.Owners.ServerEvents(c) {
			rec.AddAt(e, c.At)
		}
	}
}

func (l *liveRun) startClient(ctx context.Context, n int) (*processes.Process, *remoteSession, error) {
	name := party.Client(n)
	access, err := l.world.Access(name)
	if err != nil {
		return nil, nil, err
	}
	runs := l.opts.Processes[(n-1)%len(l.opts.Processes)]
	p, err := l.world.StartProcess(ctx, name, runs.Command, nil)
	if err != nil {
		return nil, nil, err
	}
	if err := l.world.Add(name, p); err != nil {
		return p, nil, err
	}
	env := l.Environment(n, name)
	access.TimeScale = env.Scale
	if own := l.opts.Backend.External; own != nil {
		env.Replicas = own.Replicas(l.Top.Groups)
	}
	err = l.greet(ctx, p, adapter.Hello{
		Process: name, Lock: runs.Lock, Seed: l.Seed, LeaseNS: int64(env.Lease), PollNS: int64(env.Poll),
		Replicas: env.Replicas, Acks: env.Acks, Redis: access,
	})
	if err != nil {
		return p, nil, fmt.Errorf("start %s: %w", name, err)
	}
	return p, &remoteSession{p.Conversation()}, nil
}

// perform plays the workload with the faults, waits for quiescence, and looks for
// leftovers.
func (l *liveRun) perform(ctx context.Context) {
	work, cancel := context.WithCancel(ctx)
	defer cancel()
	for _, p := range l.procs {
		go l.watchExit(p)
	}
	l.Schedule.Start(work, play.Striker{World: l.world, Rec: l.Rec}, l.Striking)
	l.Work(work, cancel, l.clients)
	l.Schedule.Stop()
	l.rest(ctx)
	l.End.Goroutines = l.finish(ctx)
	l.End.Connections = l.connections(ctx)
	l.Took = time.Since(l.Rec.Start)
	l.Err = errors.Join(l.Err, l.truth.SyncAll(ctx))
}

// watchExit waits for the end of a client process and records an unrequested one.
// Every process ends with the world.
func (l *liveRun) watchExit(p *processes.Process) {
	<-p.Ended()
	if err := p.Err(); err != nil {
		l.Rec.Add(history.Event{Kind: history.Note, F: history.Panic, Client: p.Name(), Result: exitResult(err, p.Stderr())})
	}
}

func (l *liveRun) addLogs() error {
	lines, err := l.world.LogLines()
	if err != nil {
		return err
	}
	for _, line := range lines {
		if line.Text != "" && !line.At.Before(l.Rec.Start) {
			l.Rec.AddAt(history.Event{Kind: history.Log, Log: &history.LogEvent{Server: line.Server, Text: line.Text}}, line.At)
		}
	}
	return nil
}

func (l *liveRun) takeDown() error {
	var errs []error
	if l.truth != nil {
		l.truth.Close()
	}
	for _, off := range l.slowed {
		off()
	}
	if l.world != nil {
		errs = append(errs, l.world.Close())
	}
	return errors.Join(errs...)
}
