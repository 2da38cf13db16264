// Package history is the record of a run: its events, its format, the codec and
// the validation. It imports only the reading of input from Holdfast.
//
// A history is a header and a list of events in time order. Four kinds of event describe
// operations of the workload, as in Jepsen. [Invoke] comes first, and then one of [OK],
// [Fail] (it certainly did not happen) or [Info] (its outcome is unknown). The other
// kinds are evidence. A [Note] is a fact that a client learned between operations. A
// [Fault] is a strike on the world. A [Server] event is the ground truth from a server,
// and a [Log] event a line of its own log. [End] lists the leftovers at the end.
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
	// Server is the server as it is offered, such as "valkey-9.1", where the simulated
	// servers are not Redis 7 with all rights.
	Server string `json:"server,omitempty"`

	// TimeScale is the length of a second of the scenario in this history, in seconds:
	// 0.2 for a run that was five times as fast. All times and durations of the history
	// are those of the played run, with those of the claims. The judges' allowances for
	// locks and clients scale with it. 0 means 1; otherwise it is above 0 and at most 10.
	TimeScale float64 `json:"time_scale,omitempty"`
	// Latency is the longest time of one message without a fault, in
	// nanoseconds. 0 means negligible.
	Latency int64 `json:"latency,omitempty"`

	// Unwatched is true if the recorder could not see the holder on the servers. No judge
	// reads Server events then, and properties that need them are not judged.
	Unwatched bool `json:"unwatched,omitempty"`
	// Unseen is the reason, for a lock on Redis.
	Unseen string `json:"unseen,omitempty"`

	// Order is [TotalOrder] if one recorder stamped every event in its true order: no
	// fault is missing, and lines with equal times are in order. If it is empty, events
	// of one time may have happened in any order, and others may be missing.
	Order string `json:"order,omitempty"`

	// Claims are the promises of the lock under test, without those that no
	// judge reads. A property that the lock does not claim is not judged.
	Claims Terms `json:"claims"`

	// Faults are the planned faults, by id. If one of them never strikes, the
	// run proves nothing.
	Faults []PlannedFault `json:"faults,omitempty"`

	// MinGrants is the number of grants without which the run proves nothing. 0 means 1.
	MinGrants int `json:"min_grants,omitempty"`

	// Resource describes the guarded resource; nil if the workload has none.
	Resource *Resource `json:"resource,omitempty"`

	// User is the kind of user: [Careful], [Careless], or "" for one who works
	// to the end, but stops at the notice of a loss.
	User string `json:"user,omitempty"`
}

// TotalOrder is the order of a history that one recorder has written.
const TotalOrder = "total"

// The kinds of user that a header names.
const (
	// Careful: stops at the end of the hold's validity, or at the notice of a loss.
	Careful = "careful"
	// Careless: works to the end, even after the notice of a loss.
	Careless = "careless"
)

// PlannedFault is a fault of the scenario.
type PlannedFault struct {
	ID      int      `json:"id"`
	Fault   string   `json:"fault"`
	Targets []string `json:"targets,omitempty"`
	When    string   `json:"when,omitempty"` // in words, for the report
	Traits  Traits   `json:"traits,omitzero"`
}

// Resource is the guarded register. It starts at Initial, and every critical
// section subtracts one. If Fenced, it refuses writes with an older token than one
// that it has seen.
type Resource struct {
	Initial int64 `json:"initial"`
	Fenced  bool  `json:"fenced,omitempty"`
	// FencesReads: it refuses such reads as well, as a transaction would.
	FencesReads bool `json:"fences_reads,omitempty"`
}

// Kind is the kind of an event.
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

// Func is the kind of an operation or note.
type Func string

// The operations of a workload, and the notes of a client.
const (
	Acquire Func = "acquire" // take the lock, or one more hold on it
	Release Func = "release" // release one hold
	Read    Func = "read"    // read the guarded resource
	Write   Func = "write"   // write the guarded resource
	Inspect Func = "inspect" // ask the lock how often this owner holds it
	Extend  Func = "extend"  // make the innermost hold last for a lease from now on
	Observe Func = "observe" // ask the lock who holds it

	Lost    Func = "lost"    // note: the client learned that its hold is gone
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

// Began is when the close began that a Closed note ends, or that a Crashed note cut
// short. It is Time for any other event.
func (e *Event) Began() int64 {
	if (e.F == Closed || e.F == Crashed) && e.Result != nil && e.Result.Since > 0 {
		return e.Result.Since
	}
	return e.Time
}

// Mode is the way in which an owner asks for a lock: [Shared], or "" for the whole lock.
type Mode string

// Shared is the mode of a reader.
const Shared Mode = "shared"

// Share is the part of a lock that an acquire takes and its release gives back.
type Share struct {
	Mode    Mode `json:"mode,omitempty"`
	Permits int  `json:"permits,omitempty"` // of a semaphore; 0 is 1
}

// Args are the arguments of an operation. Durations are in nanoseconds.
type Args struct {
	Share // of an acquire, and of a release that gives several permits back
	// Self is the other name of an owner that has the lock in the other mode. A writer may
	// read as well, or a reader write.
	Self string `json:"self,omitempty"`
	// Lease is the requested lease of an acquire or an extension; 0 if the lock has none.
	Lease int64 `json:"lease,omitempty"`
	// Renewed is true if the lock's watchdog renews this hold.
	Renewed bool `json:"renewed,omitempty"`
	// Wait is the longest wait of an acquire: 0 for one attempt, -1 without bound.
	Wait int64 `json:"wait,omitempty"`
	// Value is the value to write, and Base the value that the client read and
	// computed it from. Token is the fencing token of a write, and of a read if
	// the resource fences reads.
	Value int64  `json:"value,omitempty"`
	Base  int64  `json:"base,omitempty"`
	Token uint64 `json:"token,omitempty"`
}

// Error classes: the one class that each failed or unknown outcome has.
const (
	ErrBusy     = "busy"     // acquire: held by another owner until the wait was over
	ErrNotHeld  = "not-held" // release: this owner holds nothing
	ErrLost     = "lost"     // the hold existed, and its lease has ended
	ErrUnknown  = "unknown"  // transport error: it may have happened
	ErrRefused  = "refused"  // acquire: the lock reached no server, or the server answered with an error; nothing was done
	ErrCanceled = "canceled" // the caller's context ended
	ErrStale    = "stale"    // read or write refused by the resource: a newer token was seen
	ErrAcks     = "no-acks"  // acquire: taken, not confirmed by enough replicas, and released again
	ErrOther    = "other"    // an error the contract does not document
)

// Result is the result of an operation.
type Result struct {
	Count   int    `json:"count,omitempty"`   // acquire, release, inspect: holds of this owner now, or its permits
	Token   uint64 `json:"token,omitempty"`   // acquire: fencing token, 0 for none
	Until   int64  `json:"until,omitempty"`   // acquire: end of the validity that the grant names, 0 for none
	Holder  string `json:"holder,omitempty"`  // observe: the owner that the lock named, "" for a free lock
	Value   int64  `json:"value,omitempty"`   // read: the value; write: the value overwritten
	Since   int64  `json:"since,omitempty"`   // closed: when the close began, if it took time; crashed: when a close began that the crash cut short
	Error   string `json:"error,omitempty"`   // class, on Fail and Info
	Message string `json:"message,omitempty"` // the error's own words
	Stack   string `json:"stack,omitempty"`   // panic: of its goroutine, or the end of what its process wrote to stderr
}

// FaultEvent records that a planned fault started, ended, or could not strike.
type FaultEvent struct {
	ID      int      `json:"id"`
	Name    string   `json:"name"`
	Phase   string   `json:"phase"` // PhaseStart, PhaseEnd or PhaseFailed
	Targets []string `json:"targets,omitempty"`
	// Promoted is the server that answers for the group of the targets from then on.
	Promoted string `json:"promoted,omitempty"`
	// Detail is in words, for the story. That of a failure says what failed: "could
	// not strike: ...".
	Detail string `json:"detail,omitempty"`
}

// The phases of a fault. A fault without duration has only a start.
const (
	PhaseStart  = "start"
	PhaseEnd    = "end"
	PhaseFailed = "failed"
)

// ServerEvent is one change of a lock key on one server, as the world observed it.
type ServerEvent struct {
	Node string `json:"node"`
	Role string `json:"role"` // "primary" or "replica"
	Key  string `json:"key"`

	// Cause is "command", "expiry", "replication", "fault", "restart" or "migration".
	// The last one is that the key moved between two servers, one of which lost it.
	Cause string `json:"cause"`
	// Command made the change, if Cause is "command"; By is the client process
	// that sent it.
	Command string `json:"command,omitempty"`
	By      string `json:"by,omitempty"`

	// Holder and Count are the holder on this server and its hold count after the change,
	// WasHolder and WasCount those before it; "" and 0 without a holder. If the identity
	// belongs to no owner, Holder is the stored value.
	Holder    string `json:"holder,omitempty"`
	Count     int    `json:"count,omitempty"`
	WasHolder string `json:"was_holder,omitempty"`
	WasCount  int    `json:"was_count,omitempty"`

	// TTL is the rest of the lease after the change, in nanoseconds of the server's
	// clock. It is -1 for a key that never expires, and 0 for no key.
	TTL    int64 `json:"ttl,omitempty"`
	WasTTL int64 `json:"was_ttl,omitempty"`

	// Holds describes the value of the key after the change, if it does not
	// show the holder.
	Holds string `json:"holds,omitempty"`
}

// LogEvent is a line of a server's own log, at the server's own time. It proves nothing.
type LogEvent struct {
	Server string `json:"server"` // "node-1", "sentinel-2"
	Text   string `json:"text"`   // without the time and the level; one line
}

// EndEvent lists the leftovers after every client has released and every lease has
// had time to end.
type EndEvent struct {
	Keys          []string `json:"keys,omitempty"`          // "node-1 stock:lock", keys that should be gone
	Subscriptions int      `json:"subscriptions,omitempty"` // channels still subscribed by living clients
	Connections   int      `json:"connections,omitempty"`   // connections left open by closed clients
	Goroutines    []string `json:"goroutines,omitempty"`    // stacks of goroutines that never ended

	// CutOff is true if the recorder was killed: the run did not end here, and
	// the leftovers are unknown.
	CutOff bool `json:"cut_off,omitempty"`
}

// History is a recorded run.
type History struct {
	Header Header
	Events []Event
}
