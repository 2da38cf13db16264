package sim

import (
	"fmt"
	"time"

	"github.com/Shopify/toxiproxy/v2/stream"
	"github.com/Shopify/toxiproxy/v2/toxics"
	"github.com/alicebob/miniredis/v2"

	"github.com/holdfast-go/holdfast/faults"
)

func (w *World) process(name string) (*Process, error) {
	if p := w.procs[name]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("no client %q in this world", name)
}

func (w *World) node(name string) (*node, error) {
	if n := w.nodes[name]; n != nil {
		return n, nil
	}
	return nil, fmt.Errorf("no server %q in this world", name)
}

func (w *World) onServer(name string, do func(*node) error) error {
	n, err := w.node(name)
	if err != nil {
		return err
	}
	return do(n)
}

func (w *World) Pause(client string) error {
	return w.living(client, func(p *Process) { p.SetPaused(true) })
}

func (w *World) Resume(client string) error {
	return w.living(client, func(p *Process) { p.SetPaused(false) })
}

func (w *World) living(client string, do func(*Process)) error {
	p, err := w.process(client)
	if err != nil {
		return err
	}
	if p.Crashed() {
		return fmt.Errorf("%s has crashed", client)
	}
	do(p)
	return nil
}

func (w *World) Crash(client string) error {
	if err := w.living(client, (*Process).Crash); err != nil {
		return err
	}
	for _, l := range w.allLinks() {
		if l.from == client {
			l.reset()
		}
	}
	return nil
}

func (w *World) Cancel(client string, first bool) error {
	p, err := w.process(client)
	if err != nil {
		return err
	}
	err = p.Cancel(first)
	w.Settle(client) // a call that returns now does so before anything else is recorded
	return err
}

func (w *World) Attach(l faults.Link, dir stream.Direction, t toxics.Toxic) (detach func(), err error) {
	return w.onLink(l, func(l *link) func() {
		off := l.attach(dir, t)
		return func() {
			off()
			w.reroute()
		}
	})
}

func (w *World) Reset(l faults.Link) error {
	_, err := w.onLink(l, func(l *link) func() { l.reset(); return nil })
	return err
}

func (w *World) WithholdRequest(l faults.Link) (release func(), err error) {
	return w.onLink(l, func(l *link) func() { return l.requests.Withhold() })
}

func (w *World) Refuse(l faults.Link) (allow func(), err error) {
	return w.onLink(l, func(l *link) func() { return l.refusals.Refuse() })
}

func (w *World) HalfOpen(l faults.Link, gone string) (tell func(), err error) {
	return w.onLink(l, func(l *link) func() { return l.halfOpen(gone) })
}

func (w *World) onLink(l faults.Link, do func(*link) (undo func())) (undo func(), err error) {
	if w.procs[l.From] == nil && w.nodes[l.From] == nil {
		return nil, fmt.Errorf("no client or server %q in this world", l.From)
	}
	if _, err := w.node(l.To); err != nil {
		return nil, err
	}
	return do(w.link(l.From, l.To)), nil
}

func (w *World) StopNode(name string) error { return w.onServer(name, (*node).stop) }

func (w *World) StartNode(name string, keepData bool) error {
	return w.onServer(name, func(n *node) error { return n.start(keepData) })
}

// Condemn does nothing: here a node dies at once.
func (w *World) Condemn(string) {}

// Prefer implements [faults.World]. Only faults promote in this world.
func (w *World) Prefer(replica string) error {
	_, err := w.node(replica)
	return err
}

func (w *World) Promote(replica string) error {
	n, err := w.node(replica)
	if err != nil {
		return err
	}
	if n == w.primaryOf(n.group) {
		return fmt.Errorf("%s is already the primary", replica)
	}
	if !n.isUp() {
		return fmt.Errorf("%s is down", replica)
	}
	n.unfollow()
	n.exec.Lock()
	n.role = rolePrimary
	n.exec.Unlock()
	w.mu.Lock()
	old := w.primary[n.group-1]
	w.primary[n.group-1] = replica
	w.mu.Unlock()
	for _, name := range w.order {
		if r := w.nodes[name]; r.group == n.group && r != n && name != old && r.role == roleReplica {
			r.unfollow()
			r.follows(n)
		}
	}
	w.reroute()
	return nil
}

func (w *World) Follow(name string) error {
	return w.onServer(name, func(n *node) error {
		primary := w.primaryOf(n.group)
		if n == primary {
			return fmt.Errorf("%s is the primary itself", name)
		}
		n.unfollow()
		n.follows(primary)
		for _, l := range w.allLinks() { // Sentinel kills its clients' connections
			if l.to == name && w.procs[l.from] != nil {
				l.reset()
			}
		}
		return nil
	})
}

func (w *World) HandOver(replica string) error {
	return w.onServer(replica, func(n *node) error {
		old := w.primaryOf(n.group)
		if err := w.Promote(replica); err != nil {
			return err
		}
		return w.Follow(old.name)
	})
}

func (w *World) Primary(group int) string { return w.primaryOf(group).name }

func (w *World) SetClock(name string, jump time.Duration, rate float64) error {
	if p := w.procs[name]; p != nil {
		p.setClock(jump, rate)
		return nil
	}
	return w.onServer(name, func(n *node) error { return n.setClock(jump, rate) })
}

func (w *World) FlushScripts(name string) error {
	return w.onServer(name, func(n *node) error {
		return n.edit(func(*miniredis.Miniredis) { n.engine.FlushScripts() })
	})
}

func (w *World) DeleteLock(name string) error {
	n, err := w.node(name)
	if err != nil {
		return err
	}
	found := false
	err = n.edit(func(mr *miniredis.Miniredis) {
		for _, k := range mr.Keys() {
			if w.opts.LockKey(k) {
				mr.Del(k)
				found = true
			}
		}
	})
	if err == nil && !found {
		err = fmt.Errorf("%s holds no lock key to delete", name)
	}
	return err
}
