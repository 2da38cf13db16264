package locktest

import "time"

// Claims are the promises of a lock. Holdfast does not judge a promise that the
// lock does not make.
type Claims struct {
	Waits     bool // an acquire waits until its context ends; without it every acquire is a single attempt
	Cancels   bool // an operation ends when its caller's context does
	Closes    bool // the lock can be closed while it is in use
	Reentrant bool // an owner can acquire a lock that it holds once more
	Lease     bool // a hold ends by itself
	Explicit  bool // an acquire can have a lease of its own, which is not renewed
	Renewal   bool // a hold without a lease of its own is renewed while its process lives
	LostSign  bool // a holder is notified when its hold is lost
	Fencing   bool // every hold has a token greater than all before
	Fairness  bool // waiters get the lock in the order in which they came
	TakesBack bool // an acquire that ends without a grant leaves nothing behind
	// LeasePerHold: the end of an inner hold leaves the lease of the outer ones.
	LeasePerHold bool
	Extends      bool // an owner can prolong its hold
	ShutsDown    bool // one call releases all holds of a process and closes the lock: Session has a method Shutdown(context.Context) error
	Messages     bool // waiters are woken by a message on a channel of Redis
}

// Drift is an allowance for the clocks of servers: Rate times the lease, plus
// Const.
type Drift struct {
	Rate  float64
	Const time.Duration
}

// Known is a known violation of a lock: a run that shows it passes. [Run] fails if no
// run of the scenario shows the violation any more. It requires that only if it plays
// both kinds of user from the first seed on.
type Known struct {
	Scenario string // its name, "lost-acquire-reply"
	Property string // its name, "errors"; holdfast list properties shows them
	Because  string // the reason, with the tracker's number, if there is one
	// Live marks a violation that only real servers show: Run does not require it.
	Live bool
}
