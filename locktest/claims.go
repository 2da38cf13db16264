package locktest

import "time"

// Claims are what a lock promises. What follows from a promise that is not made
// is not judged.
type Claims struct {
	Waits     bool // an acquire waits until its context ends; without it every acquire is one try
	Cancels   bool // an operation ends when its caller's context does
	Closes    bool // the lock can be closed while it is in use
	Reentrant bool // an owner can take a lock that it has once more
	Lease     bool // a hold ends by itself
	Explicit  bool // an acquire can have a lease of its own, which is not renewed
	Renewal   bool // a hold without a lease of its own is renewed while its process lives
	LostSign  bool // a holder is told when its hold is lost
	Fencing   bool // every hold has a token greater than all before
	Fairness  bool // who came first is granted first
	TakesBack bool // an acquire that ends without a grant leaves nothing behind
	Messages  bool // waiters are woken by a message on a channel of Redis
}

// Drift is an allowance for the clocks of servers: a part of the lease, and so
// much more.
type Drift struct {
	Rate  float64
	Const time.Duration
}

// Known is a violation that a lock is known for: a run that shows it passes. Where
// no run of the scenario shows it any more, [Run] fails, if it plays both kinds of
// user from the first seed on.
type Known struct {
	Scenario string // its name, "lost-acquire-reply"
	Property string // its name, "errors"; holdfast list properties shows them
	Because  string // the reason, with the tracker's number where there is one
	// Live marks a violation that only real servers show: Run does not ask for it.
	Live bool
}
