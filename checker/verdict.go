package checker

import "github.com/holdfast-go/holdfast/checker/linear"

// Property names one promise of a lock.
type Property string

// The twelve properties, in the order reports show them.
const (
	Exclusion    Property = "exclusion"
	Linearizable Property = "linearizable"
	ResourceSafe Property = "resource"
	Fencing      Property = "fencing"
	Ownership    Property = "ownership"
	Count        Property = "count"
	Lease        Property = "lease"
	Renewal      Property = "renewal"
	Progress     Property = "progress"
	Fairness     Property = "fairness"
	Errors       Property = "errors"
	Cleanup      Property = "cleanup"
)

// Outcome is what a judge decided.
type Outcome = linear.Outcome

// The outcomes. Unknown is never counted as ok.
const (
	OutcomeOK = linear.OutcomeOK
	Violated  = linear.Violated
	Unknown   = linear.Unknown
)

// Classes of an exclusion violation.
const (
	// ContractBroken: a second owner was granted the lock while the first
	// one's lease was still owed. The lock broke its promise.
	ContractBroken = "contract broken"
	// LeaseOutlived: the first holder went on after its lease had ended.
	// Inherent in leases; the lock cannot prevent it.
	LeaseOutlived = "lease outlived"
)

// Verdict is one judge's word on one property of one history.
type Verdict struct {
	Outcome Outcome `json:"verdict"`
	Class   string  `json:"class,omitempty"`
	Reason  string  `json:"reason,omitempty"`
	// AtMS is when the violation began, in milliseconds since the start.
	AtMS float64 `json:"at_ms,omitempty"`
	// Ops are the operations that prove it, at most five.
	Ops []int64 `json:"ops,omitempty"`
	// OverlapMS is the length of the longest overlap; exclusion only.
	OverlapMS float64 `json:"overlap_ms,omitempty"`
	// Evidence is "server log" when the verdict rests on Server events,
	// empty when the clients' own operations are enough.
	Evidence string `json:"evidence,omitempty"`
	// Inherent says why no lock with the same claims could have avoided the
	// violation; empty where it is the lock's fault.
	Inherent string `json:"inherent,omitempty"`
	// Excused counts the inherent violations of the property. Of exclusion it counts
	// those before the first that is the worst that can be.
	Excused int `json:"excused,omitempty"`
}

// Faulty reports whether the lock broke its promise, and could have kept it.
func (v Verdict) Faulty() bool { return v.Outcome == Violated && v.Inherent == "" }
