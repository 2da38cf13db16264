// Package history is the record of a run: its events, its format, the codec and
// the validation. Of Holdfast it imports the reading of input alone.
//
// A history is a header and a list of events in time order. Four kinds of
// event describe operations of the workload, as in Jepsen: [Invoke], then one
// of [OK], [Fail] (it certainly did not happen) or [Info] (nobody knows).
// The rest is evidence. A [Note] is what a client learned between operations.
// A [Fault] is what was done to the world. [Server] events are the ground truth
// read from the servers, and [Log] events are lines of their own logs. [End] is
// what remained at quiescence.
package history

// Format names the history format this package reads and writes.
const Format = "holdfast-history/1"

// Header is the first line of a history.
type Header struct {
	Format   string `json:"format"`
	Scenario string `json:"scenario"`
	Lock     string `json:"lock"`
	World    string `json:"world"`
	Seed     uint64 `json:"seed"`
	Version  string `json:"version"`

	// TimeScale is the length of a second of the scenario in the time of this
	// history, in seconds: 0.2 when the run was played five times as fast as
	// its scenario is written. Every time and duration of the history, those of
	// the claims included, is as it was played. What the judges forgive
	// because locks and clients need time scales with it. 0 means 1; else it
	// is above 0 and at most 10.
	TimeScale float64 `json:"time_scale,omitempty"`
	// Latency is the longest that one message takes where nothing is wrong.
	// 0: too little to matter.
	Latency int64 `json:"latency,omitempty"`

	// Unwatched says that nobody could see on the servers who holds the lock:
	// no judge reads Server events, and what only they could tell is not judged.
	Unwatched bool `json:"unwatched,omitempty"`
	// Unseen says why, of a lock on Redis.
	Unseen string `json:"unseen,omitempty"`

	// Order is [TotalOrder] when one recorder stamped every event, in the order in
	// which they happened: then no fault is missing, and the order of lines counts
	// where times are equal. Empty: events of one time may have happened in any
	// order, and others than those recorded may have happened as well.
	Order string `json:"order,omitempty"`

	// Claims is what the lock under test promises; a property that the lock
	// does not claim is not judged.
	Claims Claims `json:"claims"`

	// Faults are the planned faults, by id; vacuity asks each of them whether
	// it struck.
	Faults []PlannedFault `json:"faults,omitempty"`

	// MinGrants is how many grants a run of this scenario must contain to
	// mean anything. 0 means 1.
	MinGrants int `json:"min_grants,omitempty"`

	// Resource describes the guarded resource; nil when the workload has none.
	Resource *Resource `json:"resource,omitempty"`

	// User is the kind of user that the clients are: [Careful], [Careless], or
	// "" for one who works for as long as the work takes, and stops when told
	// that the hold is lost.
	User string `json:"user,omitempty"`
}

// TotalOrder is the order of a history that one recorder has written.
const TotalOrder = "total"

// The kinds of user that a header names.
const (
	// Careful: stops when the validity of the hold is over, or when told that
	// the hold is lost.
	Careful = "careful"
	// Careless: works for as long as the work takes, also when told that the
	// hold is lost.
	Careless = "careless"
)

// Claims is what a lock promises. All durations are in nanoseconds.
type Claims struct {
	Reentrant bool `json:"reentrant,omitempty"` // a second acquire by the owner raises the count
	Lease     bool `json:"lease,omitempty"`     // a hold ends by itself when its lease runs out
	Renewal   bool `json:"renewal,omitempty"`   // a watchdog renews a hold taken without an explicit lease
	Fencing   bool `json:"fencing,omitempty"`   // every hold carries a token greater than all before
	Fairness  bool `json:"fairness,omitempty"`  // grants come in queue order
	LostSign  bool `json:"lost_sign,omitempty"` // the holder is told when its hold is lost
	// TakesBack: an acquire that ends without a grant leaves no hold behind.
	TakesBack bool `json:"takes_back,omitempty"`

	// RenewEvery is the longest gap between two renewals on the server while
	// a renewed hold lives and nothing is wrong. 0 unless Renewal.
	RenewEvery int64 `json:"renew_every,omitempty"`
	// Handoff is how long a waiter may at most overlook a free lock.
	Handoff int64 `json:"handoff,omitempty"`
	// Quorum is on how many of Nodes servers a hold must live. At least 1.
	Quorum int `json:"quorum,omitempty"`
	Nodes  int `json:"nodes,omitempty"`
	// Acks is how many replicas of a server have confirmed a hold when it is
	// granted; 0 for none.
	Acks int `json:"acks,omitempty"`

	// Drift is how far the clocks of servers may drift during a lease; nil for
	// not at all. Redlock allows for 1 % and 2 ms.
	Drift *Drift `json:"drift,omitempty"`
	// LeaseUnit is what the lock rounds a lease up to, LeaseMin its shortest
	// lease, and LeaseSlack how much longer than asked it keeps one.
	LeaseUnit  int64 `json:"lease_unit,omitempty"`
	LeaseMin   int64 `json:"lease_min,omitempty"`
	LeaseSlack int64 `json:"lease_slack,omitempty"`
	// Session is how long servers may take to end a hold whose process has died,
	// or whose connection has ended; 0 for a lock that does not live in a session.
	Session int64 `json:"session,omitempty"`
	// Margin is how long before the end of its lease a holder is told of its loss.
	Margin int64 `json:"margin,omitempty"`
	// KeepsConnections: connections last as long as their process.
	KeepsConnections bool `json:"keeps_connections,omitempty"`
}

// Drift is an allowance for clocks: a part of the lease, and so much more.
type Drift struct {
	Rate  float64 `json:"rate,omitempty"`
	Const int64   `json:"const,omitempty"` // in nanoseconds
}

// PlannedFault is a fault the scenario asked for.
type PlannedFault struct {
	ID      int      `json:"id"`
	Fault   string   `json:"fault"`
	Targets []string `json:"targets,omitempty"`
	When    string   `json:"when,omitempty"` // in words, for the report
	Traits  Traits   `json:"traits,omitzero"`
}

// Resource is the thing the lock guards: a register that starts at Initial and
// of which every critical section takes one. Fenced means that it refuses
// writes whose token is older than one it has seen.
type Resource struct {
	Initial int64 `json:"initial"`
	Fenced  bool  `json:"fenced,omitempty"`
	// FencesReads: it refuses such reads as well, as a transaction would.
	FencesReads bool `json:"fences_reads,omitempty"`
}

// Kind says what an event is.
type Kind string

// The kinds of event.
const (
	Invoke Kind = "invoke" // an operation begins
	OK     Kind = "ok"     // it happened
	Fail   Kind = "fail"   // it certainly did not happen
	Info   Kind = "info"   // its outcome is unknown
	Note   Kind = "note"   // a client learned something between operations; F says what
	Fault  Kind = "fault"  // a fault started or ended
	Server Kind = "server" // a lock key changed on a server
	Log    Kind = "log"    // a server wrote a line in its own log; for people, no judge reads it
	End    Kind = "end"    // the run is over; always the last event
)

// Func says what an operation does.
type Func string

// The operations of a workload, and the notes of a client.
const (
	Acquire Func = "acquire" // take the lock, or one more hold on it
	Release Func = "release" // give one hold back
	Read    Func = "read"    // read the guarded resource
	Write   Func = "write"   // write the guarded resource
	Inspect Func = "inspect" // ask the lock how often this owner holds it

	Lost    Func = "lost"    // note: the client was told, or saw, that its hold is gone
	Stopped Func = "stopped" // note: the client stopped its work, because its hold's validity was over
	Crashed Func = "crashed" // note: the client process is gone; nothing of it follows
	Closed  Func = "closed"  // note: the client has closed its lock handle
	Panic   Func = "panic"   // note: the lock under test panicked; Result.Message has the stack
)

// Event is one line of a history.
type Event struct {
	// Time is in nanoseconds since the start of the run, never decreasing.
	Time int64 `json:"t"`
	Kind Kind  `json:"kind"`

	// Op is the operation's id, unique and greater than 0, the same on its
	// invocation and its return. 0 on events that belong to no operation.
	Op     int64  `json:"op,omitempty"`
	F      Func   `json:"f,omitempty"`
	Client string `json:"client,omitempty"` // the process, "client-1"
	Owner  string `json:"owner,omitempty"`  // process and thread, "client-1/1"
	Lock   string `json:"lock,omitempty"`   // the lock's name

	Args   *Args        `json:"args,omitempty"`   // on Invoke
	Result *Result      `json:"result,omitempty"` // on OK, Fail, Info and Note
	Fault  *FaultEvent  `json:"fault,omitempty"`  // on Fault
	Server *ServerEvent `json:"server,omitempty"` // on Server
	Log    *LogEvent    `json:"log,omitempty"`    // on Log
	End    *EndEvent    `json:"end,omitempty"`    // on End
}

// Args are the arguments of an operation. Durations are in nanoseconds.
type Args struct {
	// Lease is the lease asked for; 0 when the lock has none.
	Lease int64 `json:"lease,omitempty"`
	// Renewed says that the lock's watchdog renews this hold.
	Renewed bool `json:"renewed,omitempty"`
	// Wait is how long an acquire may wait: 0 for one try, -1 without bound.
	Wait int64 `json:"wait,omitempty"`
	// Value is what a write writes, Base the value that the client read
	// before and computed it from. Token is the fencing token sent with a
	// write, and with a read where the resource asks for it.
	Value int64  `json:"value,omitempty"`
	Base  int64  `json:"base,omitempty"`
	Token uint64 `json:"token,omitempty"`
}

// Error classes: the one class that each failed or unknown outcome has.
const (
	ErrBusy     = "busy"     // acquire: held by another owner until the wait was over
	ErrNotHeld  = "not-held" // release: this owner holds nothing
	ErrLost     = "lost"     // the hold was there and is gone: its lease ended
	ErrUnknown  = "unknown"  // transport: nobody knows whether it happened
	ErrRefused  = "refused"  // acquire: no server could be reached, or it answered with an error; nothing was done
	ErrCanceled = "canceled" // the caller's context ended
	ErrStale    = "stale"    // read or write refused by the resource: a newer token was seen
	ErrAcks     = "no-acks"  // acquire: taken, but not enough replicas confirmed it; given back
	ErrOther    = "other"    // an error the contract does not document
)

// Result is what an operation returned.
type Result struct {
	Count   int    `json:"count,omitempty"`   // acquire, release, inspect: holds of this owner now
	Token   uint64 `json:"token,omitempty"`   // acquire: fencing token, 0 for none
	Until   int64  `json:"until,omitempty"`   // acquire: end of the validity that the grant names, 0 for none
	Value   int64  `json:"value,omitempty"`   // read: the value; write: the value overwritten
	Error   string `json:"error,omitempty"`   // class, on Fail and Info
	Message string `json:"message,omitempty"` // the error's own words
}

// FaultEvent says that a planned fault started, ended, or could not strike.
type FaultEvent struct {
	ID      int      `json:"id"`
	Name    string   `json:"name"`
	Phase   string   `json:"phase"` // PhaseStart, PhaseEnd or PhaseFailed
	Targets []string `json:"targets,omitempty"`
	Detail  string   `json:"detail,omitempty"` // in words, for the story
}

// The phases of a fault. A fault without duration has only a start.
const (
	PhaseStart  = "start"
	PhaseEnd    = "end"
	PhaseFailed = "failed"
)

// ServerEvent is one change of a lock key on one server, as the world saw it.
type ServerEvent struct {
	Node string `json:"node"`
	Role string `json:"role"` // "primary" or "replica"
	Key  string `json:"key"`

	// Cause is "command", "expiry", "replication", "fault" or "restart".
	Cause string `json:"cause"`
	// Command is the command that made the change, when Cause is "command";
	// By is the client process that sent it.
	Command string `json:"command,omitempty"`
	By      string `json:"by,omitempty"`

	// Holder and Count are who holds the lock on this server after the
	// change, WasHolder and WasCount before it; "" and 0 for nobody. A holder
	// whose identity belongs to no owner of the history is shown as stored.
	Holder    string `json:"holder,omitempty"`
	Count     int    `json:"count,omitempty"`
	WasHolder string `json:"was_holder,omitempty"`
	WasCount  int    `json:"was_count,omitempty"`

	// TTL is what remains after the change, in nanoseconds of the server's
	// clock: -1 for a key that never expires, 0 for no key.
	TTL    int64 `json:"ttl,omitempty"`
	WasTTL int64 `json:"was_ttl,omitempty"`

	// Holds is what the key holds after the change, in words, where that does
	// not tell who holds the lock.
	Holds string `json:"holds,omitempty"`
}

// LogEvent is a line of a server's own log. It proves nothing: it is the word
// of a server, in its version's words, at the time its clock showed.
type LogEvent struct {
	Server string `json:"server"` // "node-1", "sentinel-2"
	Text   string `json:"text"`   // without the time and the level; one line
}

// EndEvent is what remained at quiescence, after every client let go and
// every lease had the time to end.
type EndEvent struct {
	Keys          []string `json:"keys,omitempty"`          // "node-1 stock:lock", keys that should be gone
	Subscriptions int      `json:"subscriptions,omitempty"` // channels still subscribed by living clients
	Connections   int      `json:"connections,omitempty"`   // connections left open by closed clients
	Goroutines    []string `json:"goroutines,omitempty"`    // stacks of goroutines that never ended

	// CutOff says that the recording was killed: the run did not end here, and
	// nobody knows what remained.
	CutOff bool `json:"cut_off,omitempty"`
}

// History is a recorded run.
type History struct {
	Header Header
	Events []Event
}
