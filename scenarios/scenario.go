// Package scenarios plays a scenario: it turns the YAML into a seeded plan,
// builds the world, runs the workload of every client against the lock under
// test, lets the faults strike, and records the history.
package scenarios

import (
	"cmp"
	"time"

	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/subject"
)

// Scenario is one YAML file: topology, workload, fault timeline, expectations.
type Scenario struct {
	Name  string `yaml:"scenario" json:"scenario"`
	Title string `yaml:"title" json:"title"`
	Story string `yaml:"story" json:"story"` // what is done and why it matters, for the report

	Topology Topology `yaml:"topology" json:"topology"`
	Workload Workload `yaml:"workload" json:"workload"`
	// Override changes the workload of single clients, by name.
	Override map[string]Override `yaml:"override" json:"override,omitempty"`

	Faults []faults.Spec `yaml:"faults" json:"faults,omitempty"`

	// Needs says what a lock must claim, or do, for the scenario to be about it.
	Needs []string `yaml:"needs" json:"needs,omitempty"`
	// Only names the locks this scenario is about; empty means all. Except
	// names locks it leaves out, each with the reason. Needs says more, as it speaks of every
	// lock and not only of the built-in ones.
	Only   []string          `yaml:"only" json:"only,omitempty"`
	Except map[string]string `yaml:"except" json:"except,omitempty"`

	// Expect lists where the expectation is not ok; later entries win.
	// Otherwise argues why everything else is ok.
	Expect    []Expect `yaml:"expect" json:"expect,omitempty"`
	Otherwise string   `yaml:"otherwise" json:"otherwise"`

	// Scale is what the times have been multiplied with; 0 is 1.
	Scale float64
}

// Scaled is a time that the scenario does not name, such as a lock's own
// timeout, in the time of the run.
func (s *Scenario) Scaled(d time.Duration) time.Duration {
	return subject.Scaled(d, cmp.Or(s.Scale, 1))
}

// Setting is what the promises of a lock depend on.
func (s *Scenario) Setting() subject.Setting {
	w := &s.Workload
	return subject.Setting{Lease: time.Duration(w.Lease), Poll: time.Duration(w.Poll), Handoff: time.Duration(w.Handoff), Acks: w.Acks, Scale: cmp.Or(s.Scale, 1)}
}

// Topology is what the world is made of. How many independent primaries there
// are is the lock's affair (one, or several for multi and redlock); Groups
// raises it to at least that many.
type Topology struct {
	Clients  int             `yaml:"clients" json:"clients"`                     // processes, 1 to 200
	Groups   int             `yaml:"groups" json:"groups,omitempty"`             // at least so many independent primaries
	Replicas int             `yaml:"replicas" json:"replicas,omitempty"`         // of each primary, 0 to 3
	Cluster  bool            `yaml:"cluster" json:"cluster,omitempty"`           // the groups share one key space by slots
	Latency  Latency         `yaml:"latency,omitempty" json:"latency,omitempty"` // of a message, one way
	Lag      faults.Duration `yaml:"lag" json:"lag,omitempty"`                   // of replication, one way; default the latency
}

// Latency is a range; every message draws its own from it. Default 100us to 900us.
type Latency struct {
	Min faults.Duration `yaml:"min" json:"min"`
	Max faults.Duration `yaml:"max" json:"max"`
}

// Workload is what every client does: wait its turn to start, then Holds times
// take the lock, read the stock, think, write stock - 1, give the lock back,
// and rest.
type Workload struct {
	Lock string `yaml:"lock" json:"lock,omitempty"` // the lock's name; default "stock"
	// Locks are the names of several locks, in the place of Lock. Each guards a
	// stock of its own, and the critical sections of an owner use them in turn.
	Locks []string        `yaml:"locks" json:"locks,omitempty"`
	Holds int             `yaml:"holds" json:"holds"` // critical sections per client
	Lease faults.Duration `yaml:"lease" json:"lease"` // lease, and watchdog timeout
	Wait  faults.Duration `yaml:"wait" json:"wait"`   // how long an acquire waits
	Think faults.Duration `yaml:"think" json:"think"` // between read and write
	Rest  faults.Duration `yaml:"rest" json:"rest"`   // between critical sections
	// Start is when the first client starts; client n starts (n-1)*Stagger later.
	Start   faults.Duration `yaml:"start" json:"start,omitempty"`
	Stagger faults.Duration `yaml:"stagger" json:"stagger,omitempty"`
	// Nested lists further acquires inside the first, for reentrant locks:
	// each takes one more hold before the think time, with the lease given (0:
	// the default), and gives it back after, in reverse order.
	Nested []faults.Duration `yaml:"nested" json:"nested,omitempty"`
	// Unnest gives the nested holds back before the think time instead of
	// after it, so that the work is done under the first hold alone.
	Unnest bool `yaml:"unnest" json:"unnest,omitempty"`
	// Owners is how many owners of each client play the holds, concurrently and on
	// one lock handle; default 1.
	Owners int `yaml:"owners" json:"owners,omitempty"`
	// Herd takes the lock again with no rest at all.
	Herd bool `yaml:"herd" json:"herd,omitempty"`
	// RetryRelease asks again for a release of which nobody knows what came of it,
	// also of the last hold.
	RetryRelease bool `yaml:"retry_release" json:"retry_release,omitempty"`
	// SameOwner goes on with the same owner after an outcome that nobody knows, as a
	// thread does that asks again. By default a new owner begins.
	SameOwner bool `yaml:"same_owner" json:"same_owner,omitempty"`
	// Poll is how long a waiter goes without looking by itself: between two
	// tries of a lock that polls (default 100ms), and as the safety net of one
	// that waits for messages (default 1s).
	Poll faults.Duration `yaml:"poll" json:"poll,omitempty"`
	// Handoff is how long a waiter may overlook a free lock; by default what
	// follows from Poll.
	Handoff faults.Duration `yaml:"handoff" json:"handoff,omitempty"`
	// Explicit asks for the lease explicitly, so that no watchdog renews it.
	Explicit bool `yaml:"explicit" json:"explicit,omitempty"`
	// Carry makes holders carry on when they are told that their hold is lost.
	Carry bool `yaml:"carry" json:"carry,omitempty"`
	// User is the kind of user that the clients are, "careful" or "careless"; see
	// [Workload.UserOf]. By default careless.
	User string `yaml:"user" json:"user,omitempty"`
	// Close closes a client's lock handle while it still waits or holds, this
	// long after the run began: an orderly shutdown in the middle of work.
	Close faults.Duration `yaml:"close" json:"close,omitempty"`
	// Acks is how many replicas must confirm a grant, with a lock that waits for
	// them; default 1.
	Acks int `yaml:"acks" json:"acks,omitempty"`
	// MinGrants is how many grants a run must have to mean anything.
	MinGrants int `yaml:"min_grants" json:"min_grants,omitempty"`
}

// Names are the locks that the workload uses.
func (w *Workload) Names() []string {
	if len(w.Locks) > 0 {
		return w.Locks
	}
	return []string{cmp.Or(w.Lock, defaultLock)}
}

// AtOnce is how many owners of a client work concurrently, 1 or more.
func (w *Workload) AtOnce() int { return max(1, w.Owners) }

// Override changes some of a client's workload; nil fields stay.
type Override struct {
	Holds    *int             `yaml:"holds" json:"holds,omitempty"`
	Lease    *faults.Duration `yaml:"lease" json:"lease,omitempty"`
	Wait     *faults.Duration `yaml:"wait" json:"wait,omitempty"`
	Think    *faults.Duration `yaml:"think" json:"think,omitempty"`
	Rest     *faults.Duration `yaml:"rest" json:"rest,omitempty"`
	Start    *faults.Duration `yaml:"start" json:"start,omitempty"`
	Explicit *bool            `yaml:"explicit" json:"explicit,omitempty"`
	Close    *faults.Duration `yaml:"close" json:"close,omitempty"`
}

// Expect says which verdicts of which locks are not ok, and why.
type Expect struct {
	Locks []string `yaml:"locks" json:"locks"`
	// Verdicts maps a property to "ok", "violated" or "unknown", or for
	// exclusion to a class, "contract broken" or "lease outlived", which
	// implies violated.
	Verdicts map[string]string `yaml:"verdicts" json:"verdicts"`
	Because  string            `yaml:"because" json:"because"`
	// Defect says that the violations are the lock's own fault: another lock with
	// the same claims avoids them. Without it they are inherent.
	Defect bool `yaml:"defect" json:"defect,omitempty"`
}
