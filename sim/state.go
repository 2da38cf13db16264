package sim

import (
	"slices"
	"time"

	"github.com/Shopify/toxiproxy/v2/stream"
	"github.com/holdfast-go/holdfast/internal/traffic"
)

// State returns the state of the world. Nothing may run at this moment: call it
// after [World.Settle].
func (w *World) State() traffic.State {
	s := traffic.State{InFlight: w.watch.inFlight()}
	links := w.allLinks()
	for _, name := range w.order {
		n := w.nodes[name]
		state := n.state()
		state.Serves = w.primaryOf(n.group) == n
		for _, l := range links {
			if l.to == name {
				for range l.connections() {
					state.Connections = append(state.Connections, l.from)
				}
			}
		}
		s.Nodes = append(s.Nodes, state)
	}
	for _, l := range links {
		s.Links = append(s.Links, l.state())
	}
	return s
}

func (n *node) state() traffic.NodeState {
	n.exec.Lock()
	defer n.exec.Unlock()
	now := n.clock.now()
	s := traffic.NodeState{Name: n.name, Role: n.role, Up: n.up, ClockAhead: time.Until(now), ClockRate: n.clock.rate, Changes: n.offset}
	for _, k := range sortedKeys(n.data) {
		v, ttl := n.data[k], time.Duration(-1)
		if !v.ExpireAt.IsZero() {
			ttl = v.ExpireAt.Sub(now)
		}
		s.Keys = append(s.Keys, traffic.KeyState{Key: k, Value: v, TTL: ttl})
	}
	if n.up {
		channels := n.mr.PubSubChannels("")
		slices.Sort(channels)
		counts := n.mr.PubSubNumSub(channels...)
		for _, c := range channels {
			s.Channels = append(s.Channels, traffic.ChannelState{Name: c, Subscribers: counts[c]})
		}
	}
	for _, r := range n.streams {
		s.Replicas = append(s.Replicas, traffic.ReplicaState{Name: r.name, Acked: r.acked})
	}
	return s
}

func (l *link) state() traffic.LinkState {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := traffic.LinkState{From: l.from, To: l.to, Connections: len(l.conns), Blocked: l.isBlocked()}
	for _, a := range l.toxics {
		h := traffic.Hindrance{Toxic: nameOf(a.toxic), Since: a.since}
		if a.dir == stream.Upstream {
			s.Upstream = append(s.Upstream, h)
		} else {
			s.Downstream = append(s.Downstream, h)
		}
	}
	return s
}
