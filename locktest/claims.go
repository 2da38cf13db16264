package locktest

import (
	"time"

	"github.com/holdfast-go/holdfast/checker/history"
)

// Claims are the promises of a lock, such as Claims{Waits: true, Lease: true}.
// Holdfast does not judge a promise that the lock does not make.
type Claims = history.Claims

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
