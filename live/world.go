package live

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/Shopify/toxiproxy/v2/stream"
	"github.com/Shopify/toxiproxy/v2/toxics"

	"github.com/holdfast-go/holdfast/faults"
)

// WorldOptions describe a world: its servers, and what it tells of a run.
type WorldOptions struct {
	Options
	// LockKeys are the keys of the lock, for [World.DeleteLock].
	LockKeys []string
	// OnMoment is told of what happens to requests at the nodes,
	// [faults.Received] and [faults.Executed], when it is not nil. The request
	// or its reply waits until it returns. It may strike faults at the world;
	// several calls may be under way at once.
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
	*Servers
	keys []string

	mu        sync.Mutex
	processes map[string]clientProcess

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
	Cancel() error
	Op() string
	Crashed() bool
}

var _ clientProcess = (*Process)(nil)

// apart says why a client is cut off from the Sentinels: how many toxics keep
// it from a node. heal ends it.
type apart struct {
	toxics int
	heal   func()
}

// NewWorld starts the servers of a world as [Start] does, and fails as it
// does. The processes are added to it.
func NewWorld(ctx context.Context, o WorldOptions) (*World, error) {
	w := &World{keys: o.LockKeys, processes: map[string]clientProcess{}, apart: map[string]apart{}}
	var m *moments
	if o.OnMoment != nil {
		m = &moments{announce: o.OnMoment, op: w.op, changed: o.Changed}
	}
	var err error
	if w.Servers, err = startServers(ctx, o.Options, m); err != nil {
		return nil, err
	}
	return w, nil
}

// Add makes a process the one that faults mean by a client's name.
func (w *World) Add(client string, p clientProcess) error {
	if w.Servers.clients[client] == nil {
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

// op is the operation a client is in.
func (w *World) op(client string) string {
	if p, err := w.process(client); err == nil {
		return p.Op()
	}
	return ""
}

// Pause implements [faults.World].
func (w *World) Pause(client string) error { return w.living(client, clientProcess.Pause) }

// Resume implements [faults.World].
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

// Crash implements [faults.World]. What the process had sent and no server has
// received yet is lost.
func (w *World) Crash(client string) error {
	p, err := w.process(client)
	if err != nil {
		return err
	}
	if p.Crashed() {
		return fmt.Errorf("%s has already crashed", client)
	}
	if err := p.Kill(); err != nil {
		return err
	}
	var errs []error
	for _, srv := range w.order {
		errs = append(errs, w.Reset(faults.Link{From: client, To: srv.name}))
	}
	return errors.Join(errs...)
}

// Cancel implements [faults.World].
func (w *World) Cancel(client string) error {
	p, err := w.process(client)
	if err != nil {
		return err
	}
	return p.Cancel()
}

// DeleteLock implements [faults.World].
func (w *World) DeleteLock(node string) error { return w.DeleteKeys(node, w.keys...) }

// Attach implements [faults.World], see [Servers.Attach]. As long as a client's
// requests cannot reach a node, it cannot reach the Sentinels either: they
// would send it to a primary on the other side of the partition it is in.
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

// parts says whether a toxic keeps a client from a node that Sentinels watch.
func (w *World) parts(l faults.Link, dir stream.Direction, t toxics.Toxic) bool {
	b, ok := t.(interface{ Blocks() bool })
	node := w.byName[l.To]
	return ok && b.Blocks() && dir == stream.Upstream &&
		w.Servers.clients[l.From] != nil && w.Servers.opts.Sentinel && !node.sentinel
}

// part cuts a client off from the Sentinels.
func (w *World) part(client string) error {
	w.sentinels.Lock()
	defer w.sentinels.Unlock()
	a := w.apart[client]
	if a.toxics == 0 {
		var links []faults.Link
		for _, srv := range w.watchers() {
			links = append(links, faults.Link{From: client, To: srv.name})
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
