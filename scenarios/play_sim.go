package scenarios

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/history"
	"github.com/holdfast-go/holdfast/internal/random"
	"github.com/holdfast-go/holdfast/sim"
	"github.com/holdfast-go/holdfast/sim/keyspace"
)

// Play plays a scenario against a lock in the simulated world. The same
// scenario, lock, seed and version give the same history in any process, as
// long as no other Play runs in it at the same time. An error means that the
// run is worthless through a fault of the scenario or of the harness; whatever
// the lock under test does wrong is in the history.
func Play(s *Scenario, l *Subject, seed uint64, version string) (*Played, error) {
	return PlayWatched(s, l, seed, version, Watch{})
}

// PlayWatched is [Play], and looks at what goes on meanwhile. The history is
// that of Play.
func PlayWatched(s *Scenario, l *Subject, seed uint64, version string, look Watch) (*Played, error) {
	if err := s.check(l); err != nil {
		return nil, err
	}
	s = s.withDefaults()
	r := &run{scenario: s, subject: l, seed: seed, top: s.topologyFor(l)}
	bubble := sim.Bubble(func() { r.simulate(version, look) })
	if r.err != nil {
		return nil, fmt.Errorf("scenario %s with %s, seed %d: %w", s.Name, l.name, seed, r.err)
	}
	if r.rec == nil {
		return nil, fmt.Errorf("scenario %s with %s, seed %d: %w", s.Name, l.name, seed, bubble)
	}
	var be *sim.BubbleError
	if errors.As(bubble, &be) && len(r.end.Goroutines) == 0 {
		r.end.Goroutines = []string{be.Reason}
	}
	if r.subject.thirdParty != nil && r.killed {
		// A process that is killed takes its goroutines along. Here they cannot
		// be told from those of the others.
		r.end.Goroutines = nil
	}
	r.rec.end(r.end, r.took)
	h := &history.History{Header: r.header(version), Events: r.rec.events}
	return &Played{History: h, Took: r.took, Commands: r.commands, Scripts: r.scripts, Seen: r.watch.seen(h)}, nil
}

// settle is how long the world gets to connect its replicas before the run
// starts, besides the time that the lag of replication takes: two ways there
// and back.
const settle = 100 * time.Millisecond

// simulate is the run itself, inside the bubble.
func (r *run) simulate(version string, look Watch) {
	s, before := r.scenario, goroutines()
	// Made in here because its channels must belong to the bubble.
	if r.timeline, r.err = faults.NewTimeline(s.Faults, r.top, r.seed); r.err != nil {
		return
	}
	r.owners, r.watch = newOwners(s.Workload.Lock), newWatch(look)
	lockKey := r.subject.Key(s.Workload.Lock)
	var rec *recorder // nil while the world settles
	w := sim.New(sim.Options{
		Seed: r.seed, Clients: r.top.Clients, Groups: r.top.Groups, Replicas: r.top.Replicas, Cluster: r.top.Cluster,
		LatencyMin: time.Duration(s.Topology.Latency.Min), LatencyMax: time.Duration(s.Topology.Latency.Max),
		Lag:     time.Duration(s.Topology.Lag),
		LockKey: func(key string) bool { return key == lockKey },
		OnChange: func(c keyspace.Change) {
			if rec != nil && c.Key == lockKey {
				rec.add(r.owners.serverEvent(c))
			}
		},
		OnMoment:  func(m faults.Moment) { r.timeline.Moment(m) },
		OnMessage: r.watch.onMessage(),
	})
	defer w.Close()
	time.Sleep(settle + 4*time.Duration(s.Topology.Lag))
	start := time.Now()
	rec = newRecorder(start)
	r.rec = rec
	r.settle = w.Settle
	r.watch.begin(r, func() State { return r.state(w, r.header(version)) })

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	shared := &stock{fenced: r.subject.fenced, value: Initial}
	var clients []*client
	var redis []redis.UniversalClient
	for i := 1; i <= r.top.Clients; i++ {
		p := w.Process(fmt.Sprintf("client-%d", i))
		rng := random.Stream(r.seed, "workload", p.Name())
		time.Sleep(time.Duration(1 + rng.Int64N(int64(10*time.Microsecond)))) // no two processes start at one instant
		env := r.environment(i, p.Name())
		for g := 1; g <= r.subject.groups; g++ {
			env.Clients = append(env.Clients, w.Client(p, g))
		}
		if !r.top.Cluster {
			env.Addrs, env.Dial = w.Addresses(r.subject.groups), w.Dialer(p)
		}
		redis = append(redis, env.Clients...)
		sess, err := r.subject.open(env)
		if err != nil {
			r.err = fmt.Errorf("open lock for %s: %w", p.Name(), err)
			break
		}
		clients = append(clients, r.newClient(i, p.Process, sess, shared, rng))
	}
	if r.err == nil {
		r.timeline.Start(ctx, striker{w, rec}, r.striking)
		r.work(ctx, cancel, clients)
		r.timeline.Stop()
		r.quiesce(w, clients)
	}
	for _, c := range clients {
		r.killed = r.killed || c.proc.Crashed()
		if err := c.close(); err != nil && r.err == nil {
			r.err = err
		}
	}
	for _, rdb := range redis {
		rdb.Close() // connections of a crashed process are broken already
	}
	time.Sleep(time.Second) // connections close
	r.end.Connections = w.Connections()
	r.took = time.Since(start)
	r.commands, r.scripts = w.Served()
	if err := w.Err(); err != nil && r.err == nil {
		r.err = err
	}
	w.Close()
	r.watch.end()
	synctest.Wait()
	r.end.Goroutines = leftover(before)
}

// quiesce lets every lease run out, and looks at what remains.
func (r *run) quiesce(w *sim.World, clients []*client) {
	time.Sleep(max(longestLease(clients)*3/2, bookkeeping) + 5*time.Second)
	for _, k := range w.Keys() {
		if _, key, _ := strings.Cut(k, " "); !r.subject.keeps(r.scenario.Workload.Lock, key) {
			r.end.Keys = append(r.end.Keys, k)
		}
	}
	r.end.Subscriptions = w.Subscriptions()
}

// striker is the world as faults see it, with crashes noted in the history.
type striker struct {
	faults.World
	rec *recorder
}

// Crash implements [faults.World].
func (s striker) Crash(client string) error {
	done := s.rec.crashing(client)
	err := s.World.Crash(client)
	done(err)
	return err
}
