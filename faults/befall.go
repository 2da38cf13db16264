package faults

import "time"

// Befall is a fault that meets one request of a client.
type Befall struct {
	What string // befalls the request, after its name
	// Moment is the one of the request at which the fault strikes.
	Moment string
	Spec   Spec // without target and moment
}

// Befalls are the faults that may meet a request. No length of theirs is a multiple of
// another, or of a timeout that locks and clients commonly have.
func Befalls() []Befall {
	const ms = Duration(time.Millisecond)
	return []Befall{
		{"is held back for a moment", Received, Spec{Fault: "hold-request", For: 700 * ms}},
		{"is held back past the lease", Received, Spec{Fault: "hold-request", For: 6100 * ms}},
		{"has a late answer", Executed, Spec{Fault: "hold-reply", For: 1300 * ms}},
		{"has an answer past the lease", Executed, Spec{Fault: "hold-reply", For: 6100 * ms}},
		{"breaks its connection", Executed, Spec{Fault: "reset"}},
		{"is refused", Received, Spec{Fault: "refuse", For: 900 * ms}},
		{"is cancelled", Executed, Spec{Fault: "cancel"}},
		{"is the last before a pause", Executed, Spec{Fault: "pause", For: 6700 * ms}},
		{"is the last before a partition", Executed, Spec{Fault: "partition", For: 1700 * ms}},
		{"finds no script", Received, Spec{Fault: "script-flush"}},
		{"is the last before a failover", Executed, Spec{Fault: "failover"}},
		{"finds no memory on the server", Received, Spec{Fault: "deny", Mode: denyMemory, For: 1100 * ms}},
	}
}

// OnNode reports whether the fault strikes a server, and not the client.
func (b Befall) OnNode() bool {
	k, _ := Lookup(b.Spec.Fault)
	return k.Target == "node"
}

// CrashOf is the crash of a client at a moment.
func CrashOf(client string, on *Anchor, after Duration) Spec {
	return Spec{Fault: "crash", Target: Names{client}, On: on, After: after}
}
