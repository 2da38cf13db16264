package scenarios

import (
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/sim"
)

// Defaults of a scenario that says nothing else.
const (
	defaultLock       = "stock"
	defaultLatencyMin = 100 * time.Microsecond
	defaultLatencyMax = 900 * time.Microsecond
)

// withDefaults is the scenario with what its file left out.
func (s *Scenario) withDefaults() *Scenario {
	c := *s
	if c.Workload.Lock == "" {
		c.Workload.Lock = defaultLock
	}
	if c.Topology.Latency == (Latency{}) {
		c.Topology.Latency = Latency{Min: faults.Duration(defaultLatencyMin), Max: faults.Duration(defaultLatencyMax)}
	}
	return &c
}

// topologyFor is what the world must be made of for a lock.
func (s *Scenario) topologyFor(sub subject) faults.Topology {
	return faults.Topology{
		World: "sim", Clients: s.Topology.Clients, Groups: max(1, s.Topology.Groups, sub.groups),
		Replicas: s.Topology.Replicas, Cluster: s.Topology.Cluster,
	}
}

// workloadOf is the workload of client n, with its overrides.
func (s *Scenario) workloadOf(n int) Workload {
	w := s.Workload
	w.Start += faults.Duration(time.Duration(n-1) * time.Duration(w.Stagger))
	o, ok := s.Override[fmt.Sprintf("client-%d", n)]
	if !ok {
		return w
	}
	set(&w.Holds, o.Holds)
	set(&w.Lease, o.Lease)
	set(&w.Wait, o.Wait)
	set(&w.Think, o.Think)
	set(&w.Rest, o.Rest)
	set(&w.Start, o.Start)
	set(&w.Explicit, o.Explicit)
	set(&w.Close, o.Close)
	return w
}

func set[T any](to *T, from *T) {
	if from != nil {
		*to = *from
	}
}

// newClient builds client n: its process, its go-redis clients, its lock.
func (r *run) newClient(w *sim.World, n int, who *owners, shared *stock) (*client, error) {
	name := fmt.Sprintf("client-%d", n)
	p := w.Process(name)
	work := r.scenario.workloadOf(n)
	rng := sim.Stream(r.seed, "workload", name)
	time.Sleep(time.Duration(1 + rng.Int64N(int64(10*time.Microsecond)))) // no two processes start at one instant
	env := environment{process: name, seed: r.seed, lease: time.Duration(work.Lease), poll: time.Duration(work.Poll), replicas: r.top.Replicas}
	for g := 1; g <= r.subject.groups; g++ {
		env.clients = append(env.clients, w.Client(p, g))
	}
	sess, err := r.subject.open(env)
	if err != nil {
		return nil, fmt.Errorf("open lock for %s: %w", name, err)
	}
	claims := r.subject.claims(r.scenario)
	return &client{
		work: work, proc: p, session: sess, rec: r.rec, owners: who, announce: r.timeline.Moment, stock: shared,
		rng: rng, renewed: claims.Renewal, lease: claims.Lease, nests: claims.Reentrant,
		redis: env.clients,
	}, nil
}

// closeSession closes the lock handle once.
func (c *client) closeSession() {
	c.closing.Do(func() { c.closeErr = c.session.Close() })
}

// close closes the lock handle and its connections.
func (c *client) close() error {
	c.closeSession()
	for _, rdb := range c.redis {
		rdb.Close() // connections of a crashed process are broken already
	}
	if c.closeErr != nil {
		return fmt.Errorf("close lock of %s: %w", c.proc.Name(), c.closeErr)
	}
	return nil
}
