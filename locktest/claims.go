package locktest

import (
	"time"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/scenarios/locks"
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
// run of the scenario shows the violation any more, unless it is one that shows
// Sometimes. It requires that only if it plays both kinds of user from the first seed
// on.
type Known = locks.Known
