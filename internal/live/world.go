// Package live is the world in real time: redis-server (or valkey-server)
// processes, Sentinels and a Cluster on loopback, with an embedded toxiproxy in
// every connection.
//
// The servers, their replication, the votes of Sentinels, the gossip of the
// cluster, the TCP connections, and go-redis' own failover and cluster clients are
// real. Some settings differ from production. All runs on one machine, so the
// network is as fast as loopback until a toxic slows it. Servers notice a death
// after [servers.Options].Detect instead of half a minute, and Sentinels poll, ask
// and publish more often than by default. Servers write to disk only if
// [servers.Options].Persist is set.
//
// Without such a server, [servers.Backend] offers miniredis in separate processes,
// for scenarios without replicas, without data that outlives a server, and without
// moved clocks.
//
// Package servers runs the servers, package proxy carries their connections, and
// package processes runs the clients. A [World] combines them, and its [Truth]
// follows the keys of the servers.
//
// A path that a toxic holds still accepts TCP connections, because the proxy
// answers. No data arrives over them until the toxic is removed.
//
// # Moments and clocks
//
// A [World] stops every request of a client after the toxics and before the server, and
// every reply before the toxics. It goes on when the schedule has handled the moment. So
// a fault can strike exactly between execution and reply.
//
// # Cleanup
//
// The kernel kills the servers when the harness dies, for any reason. Only the
// directory of the servers remains; [processes.Clean] removes it, and [NewWorld]
// calls that for earlier runs.
//
// Servers run on Linux only.
package live

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/Shopify/toxiproxy/v2/stream"
	"github.com/Shopify/toxiproxy/v2/toxics"

	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/internal/live/processes"
	"github.com/holdfast-go/holdfast/internal/live/proxy"
	"github.com/holdfast-go/holdfast/internal/live/servers"
	"github.com/holdfast-go/holdfast/internal/redis/keyspace"
	own "github.com/holdfast-go/holdfast/internal/toxics"
)

// WorldOptions describe a world: its servers, and what it tells of a run.
type WorldOptions struct {
	servers.Options
	// LockKeys are the keys of the lock, for [World.DeleteLock].
	LockKeys []string
	// OnMoment gets what happens to requests at the nodes, [faults.Received] and
	// [faults.Executed], when it is not nil. The request or its reply waits until it
	// returns. It may strike faults at the world; several calls may be under way at once.
	OnMoment func(faults.Moment)
	// Changed says whether the last command of that name and connection changed a lock
	// key, for [faults.Moment].Changed; from is the address that the node sees
	// the connection come from. Without it nothing ever counts as changed.
	Changed func(node, from, command string) bool
}

// World is running servers together with the client processes that use them,
// as faults see it. It implements [faults.World]; its methods may be called by
// several goroutines.
type World struct {
	*servers.Servers
	keys []string

	mu        sync.Mutex
	processes map[string]clientProcess
	started   []*processes.Process
	closed    bool

	sentinels sync.Mutex       // held while clients are cut off from them
	apart     map[string]apart // clients that are
}

var _ faults.World = (*World)(nil)

// clientProcess is a client process as faults see it. Its methods may be
// called by several goroutines.
type clientProcess interface {
	Pause() error
	Resume() error
	Kill() error
	Cancel(first bool) error
	Op() string
	Crashed() bool
}

var _ clientProcess = (*processes.Process)(nil)

// apart says why a client is cut off from the Sentinels: how many toxics keep
// it from a node. heal ends it.
type apart struct {
	toxics int
	heal   func()
}

// NewWorld starts the servers of a world as [servers.Start] does, and fails as it
// does. The processes are added to it.
func NewWorld(ctx context.Context, o WorldOptions) (*World, error) {
	w := &World{keys: o.LockKeys, processes: map[string]clientProcess{}, apart: map[string]apart{}}
	var m *proxy.Moments
	if o.OnMoment != nil {
		m = &proxy.Moments{Announce: o.OnMoment, Op: w.op, Changed: o.Changed}
	}
	var err error
	if w.Servers, err = servers.Start(ctx, o.Options, m); err != nil {
		return nil, err
	}
	return w, nil
}

// StartProcess starts the process of a client, as [processes.Start] does, in
// a directory of its own. Close kills it, should it still run.
func (w *World) StartProcess(ctx context.Context, client string, argv, env []string) (*processes.Process, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("start %s: %w", client, err)
	}
	if w.closed {
		return nil, fmt.Errorf("start %s: the world is closed", client)
	}
	dir, err := w.ClientDir(client)
	if err != nil {
		return nil, err
	}
	clock, err := w.ClientClock(client, dir)
	if err != nil {
		return nil, err
	}
	p, err := processes.Start(client, dir, argv, append(clock, env...))
	if err == nil {
		w.started = append(w.started, p)
	}
	return p, err
}

// Observe begins to tell report of every change of a lock key, see
// [Truth].
func (w *World) Observe(lockKey func(string) bool, report func(keyspace.Change)) (*Truth, error) {
	return startTruth(w.Servers, lockKey, report)
}

// Close kills every client process, and closes the servers.
func (w *World) Close() error {
	w.mu.Lock()
	w.closed = true
	started := w.started
	w.mu.Unlock()
	var errs []error
	for _, p := range started {
		errs = append(errs, p.End())
		p.Over()
	}
	return errors.Join(append(errs, w.Servers.Close())...)
}

// Add makes a process the one that faults mean by a client's name.
func (w *World) Add(client string, p clientProcess) error {
	if !w.HasClient(client) {
		return fmt.Errorf("no client %q in this world", client)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.processes[client] != nil {
		return fmt.Errorf("%s is there already", client)
	}
	w.processes[client] = p
	return nil
}

func (w *World) process(client string) (clientProcess, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if p := w.processes[client]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("no client %q in this world", client)
}

func (w *World) op(client string) string {
	if p, err := w.process(client); err == nil {
		return p.Op()
	}
	return ""
}

func (w *World) Pause(client string) error  { return w.living(client, clientProcess.Pause) }
func (w *World) Resume(client string) error { return w.living(client, clientProcess.Resume) }

func (w *World) living(client string, do func(clientProcess) error) error {
	p, err := w.process(client)
	if err != nil {
		return err
	}
	if p.Crashed() {
		return fmt.Errorf("%s has crashed", client)
	}
	return do(p)
}

// Crash implements [faults.World]. Data that the process has sent is lost, unless
// a server has received it.
func (w *World) Crash(client string) error {
	if err := w.living(client, clientProcess.Kill); err != nil {
		return err
	}
	var errs []error
	for _, name := range w.Names() {
		errs = append(errs, w.Reset(faults.Link{From: client, To: name}))
	}
	return errors.Join(errs...)
}

func (w *World) Cancel(client string, first bool) error {
	p, err := w.process(client)
	if err != nil {
		return err
	}
	return p.Cancel(first)
}

func (w *World) DeleteLock(node string) error { return w.DeleteKeys(node, w.keys...) }

// Attach implements [faults.World], see [servers.Servers.Attach]. While a client's
// requests cannot reach a node, the client cannot reach the Sentinels either. They
// would send it to a primary on the other side of the partition.
func (w *World) Attach(l faults.Link, dir stream.Direction, t toxics.Toxic) (detach func(), err error) {
	off, err := w.Servers.Attach(l, dir, t)
	if err != nil || !w.parts(l, dir, t) {
		return off, err
	}
	if err := w.part(l.From); err != nil {
		off()
		return nil, err
	}
	return sync.OnceFunc(func() {
		off()
		w.rejoin(l.From)
	}), nil
}

// parts reports whether a toxic keeps a client from a node that Sentinels watch.
func (w *World) parts(l faults.Link, dir stream.Direction, t toxics.Toxic) bool {
	return own.Blocks(t) && dir == stream.Upstream && w.HasClient(l.From) && slices.Contains(w.Nodes(), l.To)
}

// part cuts a client off from the Sentinels.
func (w *World) part(client string) error {
	w.sentinels.Lock()
	defer w.sentinels.Unlock()
	a := w.apart[client]
	if a.toxics == 0 {
		var links []faults.Link
		for _, name := range w.Names() {
			if !slices.Contains(w.Nodes(), name) {
				links = append(links, faults.Link{From: client, To: name})
			}
		}
		var err error
		if a.heal, err = faults.Cut(w.Servers, links); err != nil {
			return fmt.Errorf("cut %s off from the Sentinels: %w", client, err)
		}
	}
	a.toxics++
	w.apart[client] = a
	return nil
}

func (w *World) rejoin(client string) {
	w.sentinels.Lock()
	defer w.sentinels.Unlock()
	a := w.apart[client]
	if a.toxics--; a.toxics == 0 {
		a.heal()
	}
	w.apart[client] = a
}
