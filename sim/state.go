package sim

import (
	"slices"
	"time"

	"github.com/Shopify/toxiproxy/v2/stream"

	"github.com/holdfast-go/holdfast/internal/redis/keyspace"
)

// State is the state of a world at one moment.
type State struct {
	Nodes []NodeState `json:"nodes"`
	Links []LinkState `json:"links"`
	// InFlight are the messages that have been sent and have not arrived, if the
	// world is watched; see [Options.OnMessage].
	InFlight []Message `json:"in_flight,omitempty"`
}

// NodeState is a server. While it is down, Keys is its last memory.
type NodeState struct {
	Name        string         `json:"name"`
	Role        string         `json:"role"`             // "primary" or "replica"
	Serves      bool           `json:"serves,omitempty"` // it is the one that clients of its group are sent to
	Up          bool           `json:"up"`
	ClockAhead  time.Duration  `json:"clock_ahead"` // of true time; negative when behind
	ClockRate   float64        `json:"clock_rate"`  // 1 is true time
	Keys        []KeyState     `json:"keys,omitempty"`
	Channels    []ChannelState `json:"channels,omitempty"`
	Connections []string       `json:"connections,omitempty"` // who is connected; one entry for each connection
	Changes     int64          `json:"changes"`               // ever made here: the offset of replication
	Replicas    []ReplicaState `json:"replicas,omitempty"`    // that are connected
}

// KeyState is a key and its value.
type KeyState struct {
	Key   string         `json:"key"`
	Value keyspace.Value `json:"value"`
	// TTL is the rest of the lease on the server's clock, -1 for a key that never
	// expires. It is 0 or less for a key that expired while the server was down.
	TTL time.Duration `json:"ttl"`
}

// Text describes the value of the key, in a line.
func (k KeyState) Text() string { return valueText(k.Value) }

// ChannelState is a channel with a subscriber.
type ChannelState struct {
	Name        string `json:"name"`
	Subscribers int    `json:"subscribers"`
}

// ReplicaState is a replica as its primary sees it.
type ReplicaState struct {
	Name  string `json:"name"`
	Acked int64  `json:"acked"` // the offset it has confirmed; -1 for none
}

// LinkState is a link that has or had a connection, or has a toxic.
type LinkState struct {
	From        string      `json:"from"`
	To          string      `json:"to"`
	Connections int         `json:"connections"`
	Blocked     bool        `json:"blocked,omitempty"` // not even a connection can be opened
	Upstream    []Hindrance `json:"upstream,omitempty"`
	Downstream  []Hindrance `json:"downstream,omitempty"`
}

// State returns the state of the world. Nothing may run at this moment: call it
// after [World.Settle].
func (w *World) State() State {
	s := State{InFlight: w.watch.inFlight()}
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

func (n *node) state() NodeState {
	n.exec.Lock()
	defer n.exec.Unlock()
	now := n.clock.now()
	s := NodeState{Name: n.name, Role: n.role, Up: n.up, ClockAhead: time.Until(now), ClockRate: n.clock.rate, Changes: n.offset}
	for _, k := range sortedKeys(n.data) {
		v, ttl := n.data[k], time.Duration(-1)
		if !v.ExpireAt.IsZero() {
			ttl = v.ExpireAt.Sub(now)
		}
		s.Keys = append(s.Keys, KeyState{Key: k, Value: v, TTL: ttl})
	}
	if n.up {
		channels := n.mr.PubSubChannels("")
		slices.Sort(channels)
		counts := n.mr.PubSubNumSub(channels...)
		for _, c := range channels {
			s.Channels = append(s.Channels, ChannelState{Name: c, Subscribers: counts[c]})
		}
	}
	for _, r := range n.streams {
		s.Replicas = append(s.Replicas, ReplicaState{Name: r.name, Acked: r.acked})
	}
	return s
}

func (l *link) state() LinkState {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := LinkState{From: l.from, To: l.to, Connections: len(l.conns), Blocked: l.isBlocked()}
	for _, a := range l.toxics {
		h := Hindrance{Toxic: nameOf(a.toxic), Since: a.since}
		if a.dir == stream.Upstream {
			s.Upstream = append(s.Upstream, h)
		} else {
			s.Downstream = append(s.Downstream, h)
		}
	}
	return s
}
