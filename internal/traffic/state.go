package traffic

import (
	"time"

	"github.com/holdfast-go/holdfast/internal/redis/keyspace"
)

// State is the state of a world at one moment.
type State struct {
	Nodes []NodeState `json:"nodes"`
	Links []LinkState `json:"links"`
	// InFlight are the messages that have been sent and have not arrived, if the
	// world is watched; see OnMessage of the options of a world.
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

type KeyState struct {
	Key   string         `json:"key"`
	Value keyspace.Value `json:"value"`
	// TTL is the rest of the lease on the server's clock, -1 for a key that never
	// expires. It is 0 or less for a key that expired while the server was down.
	TTL time.Duration `json:"ttl"`
}

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
