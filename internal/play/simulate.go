package play

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/internal/party"
	"github.com/holdfast-go/holdfast/internal/random"
	"github.com/holdfast-go/holdfast/internal/redis/keyspace"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/scenarios/locks"
	"github.com/holdfast-go/holdfast/sim"
)

// Simulate plays a scenario against a lock in the simulated world. The same scenario,
// lock, seed and version give the same history in any process, if no other call runs in
// it at the same time. The error reports a defect of the scenario or of the harness,
// after which the run proves nothing. The mistakes of the lock are in the history.
func Simulate(s *scenarios.Scenario, l *locks.Lock, seed uint64, version string) (*Played, error) {
	p, _, err := SimulateWatched(s, l, seed, version, Watch{})
	return p, err
}

// SimulateWatched is [Simulate] with an observation of the run. The history is that of
// Simulate.
func SimulateWatched(s *scenarios.Scenario, l *locks.Lock, seed uint64, version string, look Watch) (*Played, *Seen, error) {
	if err := s.Check(l); err != nil {
		return nil, nil, err
	}
	s = s.WithDefaults()
	r := &simRun{Run: &Run{Scenario: s, Lock: l, Seed: seed, Top: s.World(l)}}
	bubble := sim.Bubble(func() { r.simulate(version, look) })
	if r.Err != nil {
		return nil, nil, fmt.Errorf("scenario %s with %s, seed %d: %w", s.Name, l.Name(), seed, r.Err)
	}
	if r.Rec == nil {
		return nil, nil, fmt.Errorf("scenario %s with %s, seed %d: %w", s.Name, l.Name(), seed, bubble)
	}
	if be, ok := errors.AsType[*sim.BubbleError](bubble); ok && len(r.End.Goroutines) == 0 {
		r.End.Goroutines = []string{be.Reason}
	}
	if r.Lock.ThirdParty != nil && r.Killed {
		// A process that is killed takes its goroutines along. Here they look like those
		// of the others.
		r.End.Goroutines = nil
	}
	r.EndRecord()
	h := &history.History{Header: r.Header(version), Events: r.Rec.Events}
	return &Played{History: h, Took: r.Took, Overran: r.Overran, Commands: r.Commands, Scripts: r.Scripts, ReadsClock: r.ReadsClock, Elsewhere: r.Owners.Elsewhere()}, r.watch.seen(h), nil
}

type simRun struct {
	*Run
	watch *watch // nil without a viewer
}

// settle is the time in which the world connects its replicas before the run
// starts, in addition to two round trips of the replication lag.
const settle = 100 * time.Millisecond

// simulate is the run itself, inside the bubble.
func (r *simRun) simulate(version string, look Watch) {
	s, goroutines := r.Scenario, runtime.NumGoroutine()
	// Made in here because its channels must belong to the bubble.
	if r.Schedule, r.Err = faults.NewSchedule(s.Faults, r.Top, r.Seed); r.Err != nil {
		return
	}
	r.Owners, r.watch = NewOwners(s, r.Lock), newWatch(look)
	var rec *Recorder // nil while the world settles
	o := sim.Options{
		Seed: r.Seed, Clients: r.Top.Clients, Groups: r.Top.Groups, Replicas: r.Top.Replicas, Cluster: r.Top.Cluster,
		LatencyMin: time.Duration(s.Topology.Latency.Min), LatencyMax: time.Duration(s.Topology.Latency.Max),
		Lag:     time.Duration(s.Topology.Lag),
		Server:  r.Lock.Server(),
		LockKey: r.Owners.IsLock,
		OnChange: func(c keyspace.Change) {
			switch {
			case rec == nil:
			case c.Key == "" || r.Owners.IsLock(c.Key):
				for _, e := range r.Owners.ServerEvents(c) {
					rec.Add(e)
				}
			default:
				r.Owners.Beside(c)
			}
		},
		OnMoment:  func(m faults.Moment) { r.Schedule.Moment(m) },
		Arrivals:  look.Moments || r.Schedule.WaitsForArrivals(),
		OnMessage: r.watch.onMessage(),
		OnUse:     r.watch.onUse(),
	}
	if r.Lock.Holders != nil {
		o.NextEnd = r.Owners.NextEnd
	}
	w := sim.New(o)
	defer w.Close()
	r.Settle = w.Settle
	time.Sleep(settle + 4*time.Duration(s.Topology.Lag))
	start := time.Now()
	rec = NewRecorder(start)
	r.Rec = rec
	r.watch.begin(r, func() State { return r.state(w, r.Header(version)) })

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	clients, connections, err := r.openClients(w)
	if r.Err = err; err == nil {
		r.Schedule.Start(ctx, Striker{World: w, Rec: rec}, r.Striking)
		r.Work(ctx, cancel, clients)
		r.Schedule.Stop()
		r.quiesce(w, clients)
	}
	for _, c := range clients {
		r.Killed = r.Killed || c.Proc.Crashed()
		r.ReadsClock = r.ReadsClock || w.Process(c.Proc.Name()).IsRead()
		if err := c.Close(); err != nil && r.Err == nil {
			r.Err = err
		}
	}
	for _, rdb := range connections {
		rdb.Close() // connections of a crashed process are broken already
	}
	time.Sleep(time.Second) // connections close
	r.End.Connections = w.Connections()
	r.Took = time.Since(start)
	r.Commands, r.Scripts = w.Served()
	if err := w.Err(); err != nil {
		r.Err = err // an error of Open may follow from it
	}
	w.Close()
	r.watch.end()
	synctest.Wait()
	// To list them takes long. Should another goroutine of the process have ended
	// meanwhile, the bubble itself reports what is left.
	if runtime.NumGoroutine() > goroutines {
		_, r.End.Goroutines = Goroutines()
	}
}

// openClients starts the client processes and opens the lock in each. It returns what
// is open, even with an error.
func (r *simRun) openClients(w *sim.World) (clients []*Client, connections []redis.UniversalClient, err error) {
	shared := r.NewStocks()
	for i := 1; i <= r.Top.Clients; i++ {
		p := w.Process(party.Client(i))
		rng := random.Stream(r.Seed, "workload", p.Name())
		time.Sleep(time.Duration(1 + rng.Int64N(int64(10*time.Microsecond)))) // no two processes start at one instant
		env := r.Environment(i, p.Name())
		env.Clock = p
		for g := 1; g <= r.Lock.Groups; g++ {
			env.Clients = append(env.Clients, w.Client(p, g))
		}
		if !r.Top.Cluster {
			env.Addrs, env.Dial = w.Addresses(r.Lock.Groups), w.Dialer(p)
		}
		connections = append(connections, env.Clients...)
		if r.Top.Cluster {
			// The first command asks a server for its commands, and go-redis holds a
			// mutex meanwhile. A second owner that waits for a mutex would stop the
			// virtual time.
			if err := env.Clients[0].Ping(context.Background()).Err(); err != nil {
				return clients, connections, fmt.Errorf("reach the cluster from %s: %w", p.Name(), err)
			}
		}
		sess, err := r.Lock.Open(env)
		if err != nil {
			return clients, connections, fmt.Errorf("open lock for %s: %w", p.Name(), err)
		}
		clients = append(clients, r.NewClient(i, p.Process, sess, shared, rng))
	}
	return clients, connections, nil
}

// quiet is the least time for which a run rests, so that a watchdog that goes on shows.
const quiet = time.Minute

// quiesce waits until every lease has ended, and looks for leftovers.
func (r *simRun) quiesce(w *sim.World, clients []*Client) {
	time.Sleep(max(LongestLease(clients)*3/2, quiet) + 5*time.Second)
	for _, k := range w.Keys() {
		if r.Leftover(k.Name, k.TTL) {
			r.End.Keys = append(r.End.Keys, k.Node+" "+k.Name)
		}
	}
	r.End.Subscriptions = w.Subscriptions()
}
