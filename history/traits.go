package history

// Traits say what a fault can do to a run. A judge reads these, never the name
// of a fault, so that a new fault needs no new judge. The traits are about the
// targets that the header and the events name.
//
// A fault that may or may not do something has the trait: a judge that has to
// excuse rather excuses once too often than blames a lock for a fault.
type Traits struct {
	// A fault has exactly one of these two.
	Instant bool `json:"instant,omitempty"` // it is over at once; only what settles after it is excused
	Lasts   bool `json:"lasts,omitempty"`   // it goes on until its end event, or to the end of the history

	// Messages on the links of the targets.
	HoldsRequests      bool `json:"holds_requests,omitempty"`      // what clients send arrives late, in order
	HoldsReplies       bool `json:"holds_replies,omitempty"`       // what servers answer arrives late, in order
	Cuts               bool `json:"cuts,omitempty"`                // what it holds arrives when it ends, not before
	LosesReplies       bool `json:"loses_replies,omitempty"`       // a request is executed, and its client never hears of it
	LosesNotices       bool `json:"loses_notices,omitempty"`       // a pub/sub message never arrives; other messages do
	HoldsSubscriptions bool `json:"holds_subscriptions,omitempty"` // a SUBSCRIBE arrives late; other messages do not
	HoldsReplication   bool `json:"holds_replication,omitempty"`   // what a primary confirmed reaches its replicas late
	BreaksConnections  bool `json:"breaks_connections,omitempty"`  // a client may find its connection dead when it next uses it
	Refuses            bool `json:"refuses,omitempty"`             // new connections are refused while it is on
	Reorders           bool `json:"reorders,omitempty"`            // a request may be executed after its sender gave up the connection

	// Servers.
	StopsNode      bool    `json:"stops_node,omitempty"`      // a server may not answer
	Promotes       bool    `json:"promotes,omitempty"`        // another server answers for the group from then on
	Forks          bool    `json:"forks,omitempty"`           // two servers may answer for one group at a time
	LosesWrites    bool    `json:"loses_writes,omitempty"`    // a server may forget what it had confirmed
	DeletesKeys    bool    `json:"deletes_keys,omitempty"`    // a server is told to forget the lock
	ForgetsScripts bool    `json:"forgets_scripts,omitempty"` // a server answers NOSCRIPT; that costs a round trip
	MovesClock     bool    `json:"moves_clock,omitempty"`     // leases on a server end early or late
	ClockJump      int64   `json:"clock_jump,omitempty"`      // by so many nanoseconds; 0 where that is not known
	ClockRate      float64 `json:"clock_rate,omitempty"`      // the clock's speed while it lasts; 0 where that is not known

	// Client processes.
	StopsProcess bool `json:"stops_process,omitempty"` // a client does nothing for a while, and goes on without noticing
	EndsProcess  bool `json:"ends_process,omitempty"`  // a client is dead from then on
	Cancels      bool `json:"cancels,omitempty"`       // the context of a client's operation ends
}

// Known reports whether a fault has traits at all: then it has an end, or none.
func (t Traits) Known() bool { return t.Instant != t.Lasts }
