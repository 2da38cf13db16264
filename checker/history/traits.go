package history

// Traits are the possible effects of a fault on its targets in the header and the events.
// Judges read them, never the name of the fault, so a new fault needs no new judge.
//
// A fault has a trait if it may have that effect. It is better to excuse a lock once too
// often than to blame it for a fault.
type Traits struct {
	// A fault has exactly one of these two.
	Instant bool `json:"instant,omitempty"` // it ends at once; only its aftermath is an excused
	Lasts   bool `json:"lasts,omitempty"`   // it goes on until its end event, or to the end of the history

	// Messages on the links of the targets.
	HoldsRequests      bool `json:"holds_requests,omitempty"`      // requests of clients arrive late, in order
	HoldsReplies       bool `json:"holds_replies,omitempty"`       // replies of servers arrive late, in order
	Cuts               bool `json:"cuts,omitempty"`                // the messages that it holds arrive when it ends, not before
	LosesReplies       bool `json:"loses_replies,omitempty"`       // a server executes a request, and its client never gets the reply
	LosesNotices       bool `json:"loses_notices,omitempty"`       // a pub/sub message never arrives; other messages do
	HoldsSubscriptions bool `json:"holds_subscriptions,omitempty"` // a SUBSCRIBE arrives late; other messages do not
	HoldsReplication   bool `json:"holds_replication,omitempty"`   // writes that a primary confirmed reach its replicas late
	BreaksConnections  bool `json:"breaks_connections,omitempty"`  // a client may find its connection dead when it next uses it
	Refuses            bool `json:"refuses,omitempty"`             // servers refuse new connections while it lasts
	RefusesGrants      bool `json:"refuses_grants,omitempty"`      // servers may answer a command with an error; the release of a hardened lock works
	Reorders           bool `json:"reorders,omitempty"`            // a request may be executed after its sender gave up the connection

	// Servers.
	StopsNode      bool    `json:"stops_node,omitempty"`      // a server may not answer
	Promotes       bool    `json:"promotes,omitempty"`        // another server answers for the group from then on
	Forks          bool    `json:"forks,omitempty"`           // two servers may answer for one group at a time
	LosesWrites    bool    `json:"loses_writes,omitempty"`    // a server may forget writes that it had confirmed
	DeletesKeys    bool    `json:"deletes_keys,omitempty"`    // a server deletes the lock's key
	ForgetsScripts bool    `json:"forgets_scripts,omitempty"` // a server answers NOSCRIPT; that costs a round trip
	MovesClock     bool    `json:"moves_clock,omitempty"`     // leases on a server end early or late
	ClockJump      int64   `json:"clock_jump,omitempty"`      // the jump of the clock of a server or client, in nanoseconds; 0 if unknown
	ClockRate      float64 `json:"clock_rate,omitempty"`      // the clock's speed while it lasts; 0 if unknown

	// Client processes.
	StopsProcess bool `json:"stops_process,omitempty"` // a client does nothing for a while, and goes on without noticing
	EndsProcess  bool `json:"ends_process,omitempty"`  // a client is dead from then on
	Cancels      bool `json:"cancels,omitempty"`       // the context of a client's operation ends
	CancelsFirst bool `json:"cancels_first,omitempty"` // of several, that of the one that began first; else last

	MovesClientClock bool `json:"moves_client_clock,omitempty"` // the wall clock of a client is wrong; excuses no lock that does not claim synchronized clocks
}

// Known reports whether a fault has traits at all: then it has an end, or none.
func (t Traits) Known() bool { return t.Instant != t.Lasts }
