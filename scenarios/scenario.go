// Package scenarios reads scenarios: YAML files with a topology, a workload,
// faults and expected verdicts. It validates them, holds the built-in catalogue,
// and decides which scenarios apply to a lock and which verdicts they expect of
// it. Package play plays them.
package scenarios

import (
	"cmp"
	"time"

	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// Scenario is one YAML file: topology, workload, schedule of faults, expectations.
type Scenario struct {
	Name  string `yaml:"scenario" json:"scenario"`
	Title string `yaml:"title" json:"title"`
	Story string `yaml:"story" json:"story"` // the course of events and its importance, for the report

	Topology Topology `yaml:"topology" json:"topology"`
	Workload Workload `yaml:"workload" json:"workload"`
	// Override changes the workload of single clients, by name.
	Override map[string]Override `yaml:"override" json:"override,omitempty"`

	Faults []faults.Spec `yaml:"faults" json:"faults,omitempty"`

	// Needs lists the claims and habits that a lock needs for this scenario.
	Needs []string `yaml:"needs" json:"needs,omitempty"`
	// Only names the locks of this scenario; empty means all. Except names
	// locks that it leaves out, each with the reason. Prefer Needs, which
	// covers all locks and not only built-in ones.
	Only   []string          `yaml:"only" json:"only,omitempty"`
	Except map[string]string `yaml:"except" json:"except,omitempty"`

	// Expect lists the expected verdicts that are not ok; later entries win.
	// Otherwise argues why all others are ok.
	Expect    []Expect `yaml:"expect" json:"expect,omitempty"`
	Otherwise string   `yaml:"otherwise" json:"otherwise"`

	// Scale is the factor of all times; 0 is 1.
	Scale float64
}

// Scaled converts a time that the scenario does not contain, such as a lock's own
// timeout, to the time of the run.
func (s *Scenario) Scaled(d time.Duration) time.Duration {
	return locks.Scaled(d, cmp.Or(s.Scale, 1))
}

// Setting holds the parameters on which the promises of a lock depend. Its lease is the
// longest one of a client, because a client with a longer one also renews it later.
func (s *Scenario) Setting() locks.Setting {
	w, lease := &s.Workload, s.Workload.Lease
	for n := range s.Topology.Clients {
		lease = max(lease, s.WorkloadOf(n+1).Lease)
	}
	return locks.Setting{Lease: time.Duration(lease), Poll: time.Duration(w.Poll), Handoff: time.Duration(w.Handoff), Acks: w.Acks, Scale: cmp.Or(s.Scale, 1)}
}

// Topology describes the servers, clients and links. The lock determines the number of
// independent primaries (one, or several for multi and redlock); Groups raises it.
type Topology struct {
	Clients  int             `yaml:"clients" json:"clients"`                     // processes, 1 to 200
	Groups   int             `yaml:"groups" json:"groups,omitempty"`             // the least number of independent primaries
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

// Workload is the work of every client. It waits for its start, and then repeats
// Holds times: acquire, read the stock, think, write stock - 1, release, rest.
type Workload struct {
	Lock string `yaml:"lock" json:"lock,omitempty"` // the lock's name; default "stock"
	// Locks are the names of several locks, instead of Lock. Each guards its own
	// stock. The critical sections of an owner use them in turn, unless Together.
	Locks []string `yaml:"locks" json:"locks,omitempty"`
	// Together makes an owner hold all of Locks at once: a critical section of each lies
	// within that of the one before. All owners take them in this order.
	Together bool `yaml:"together" json:"together,omitempty"`

	Holds int             `yaml:"holds" json:"holds"` // critical sections per client
	Lease faults.Duration `yaml:"lease" json:"lease"` // lease, and watchdog timeout
	Wait  faults.Duration `yaml:"wait" json:"wait"`   // how long an acquire waits
	Think faults.Duration `yaml:"think" json:"think"` // between read and write
	Rest  faults.Duration `yaml:"rest" json:"rest"`   // between critical sections
	// Start is when the first client starts; client n starts (n-1)*Stagger later.
	Start   faults.Duration `yaml:"start" json:"start,omitempty"`
	Stagger faults.Duration `yaml:"stagger" json:"stagger,omitempty"`
	// Nested lists the leases of nested holds, for reentrant locks (0: the
	// default). The client acquires them before the think time, and releases
	// them after it in reverse order.
	Nested []faults.Duration `yaml:"nested" json:"nested,omitempty"`
	// Unnest releases the nested holds before the think time instead of after
	// it, so that only the first hold protects the work.
	Unnest bool `yaml:"unnest" json:"unnest,omitempty"`
	// Owners is the number of concurrent owners of each client, on one lock
	// handle; default 1.
	Owners int `yaml:"owners" json:"owners,omitempty"`
	// Permits is the largest number of permits that an acquire of a weighted lock takes.
	// Owners take from 1 to so many, in turn. The default is 1.
	Permits int `yaml:"permits" json:"permits,omitempty"`
	// Turn is the claim of a lock for readers and writers that its owners use. With
	// "downgrades" a writer takes the lock as a reader, too, and reads on after its write.
	// With "upgrades" a reader of the first client does so as a writer, and writes what
	// follows from what it has read. Two such readers would wait for each other.
	Turn string `yaml:"turn" json:"turn,omitempty"`
	// Alone gives a client no more owners than Owners, also where the lock has room for
	// several. In a lock for readers and writers, the last client writes, and others read.
	Alone bool `yaml:"alone" json:"alone,omitempty"`
	// Herd acquires the lock again without any rest.
	Herd bool `yaml:"herd" json:"herd,omitempty"`
	// RetryRelease repeats a release of unknown outcome, also that of the last hold.
	RetryRelease bool `yaml:"retry_release" json:"retry_release,omitempty"`
	// SameOwner goes on with the same owner after an unknown outcome, as a
	// thread does that repeats its call. By default a new owner starts.
	SameOwner bool `yaml:"same_owner" json:"same_owner,omitempty"`
	// Poll is the poll interval of a waiter. The default is 100ms for a lock
	// that polls, and 1s for a lock that waits for messages.
	Poll faults.Duration `yaml:"poll" json:"poll,omitempty"`
	// Handoff is the time for which a waiter may overlook a free lock. The default is
	// derived from Poll.
	Handoff faults.Duration `yaml:"handoff" json:"handoff,omitempty"`
	// Explicit requests the lease explicitly, so that no watchdog renews it.
	Explicit bool `yaml:"explicit" json:"explicit,omitempty"`
	// Extend makes a holder extend its innermost hold before the think time, so
	// that the hold lasts at least this long from then on.
	Extend faults.Duration `yaml:"extend" json:"extend,omitempty"`
	// Observe makes each client ask in this interval who holds the locks, beside its
	// owners and until they have finished.
	Observe faults.Duration `yaml:"observe" json:"observe,omitempty"`
	// Shutdown ends the last critical section of a client with a shutdown of its lock
	// instead of a release. The shutdown releases all holds of the process.
	Shutdown bool `yaml:"shutdown" json:"shutdown,omitempty"`
	// Carry makes holders go on after the notice of a loss.
	Carry bool `yaml:"carry" json:"carry,omitempty"`
	// User is the kind of user, "careful" or "careless"; see [Workload.UserOf].
	// The default is careless.
	User string `yaml:"user" json:"user,omitempty"`
	// Close is the time after the start of the run at which a client closes its
	// lock handle, while it still waits or holds.
	Close faults.Duration `yaml:"close" json:"close,omitempty"`
	// Acks is the number of replicas that must confirm a grant, for a lock that
	// waits for them; default 1.
	Acks int `yaml:"acks" json:"acks,omitempty"`
	// MinGrants is the number of grants without which a run proves nothing.
	MinGrants int `yaml:"min_grants" json:"min_grants,omitempty"`
}

// Names are the names of the workload's locks.
func (w *Workload) Names() []string {
	if len(w.Locks) > 0 {
		return w.Locks
	}
	return []string{cmp.Or(w.Lock, defaultLock)}
}

// Sections is the number of critical sections in each of Holds, 1 or more.
func (w *Workload) Sections() int {
	if w.Together {
		return len(w.Names())
	}
	return 1
}

// AtOnce is the number of concurrent owners of a client, 1 or more.
func (w *Workload) AtOnce() int { return max(1, w.Owners) }

// Override changes the workload of a client; nil fields keep their value.
type Override struct {
	Holds    *int             `yaml:"holds" json:"holds,omitempty"`
	Lease    *faults.Duration `yaml:"lease" json:"lease,omitempty"`
	Wait     *faults.Duration `yaml:"wait" json:"wait,omitempty"`
	Think    *faults.Duration `yaml:"think" json:"think,omitempty"`
	Rest     *faults.Duration `yaml:"rest" json:"rest,omitempty"`
	Start    *faults.Duration `yaml:"start" json:"start,omitempty"`
	Explicit *bool            `yaml:"explicit" json:"explicit,omitempty"`
	Extend   *faults.Duration `yaml:"extend" json:"extend,omitempty"`
	Shutdown *bool            `yaml:"shutdown" json:"shutdown,omitempty"`
	Close    *faults.Duration `yaml:"close" json:"close,omitempty"`
}

// Expect lists the verdicts of locks that are not ok, with the reason.
type Expect struct {
	Locks []string `yaml:"locks" json:"locks"`
	// Verdicts maps a property to "ok", "violated" or "unknown", or for
	// exclusion to a class, "contract broken" or "lease outlived", which
	// implies violated. "violated or ok" leaves it to chance.
	Verdicts map[string]string `yaml:"verdicts" json:"verdicts"`
	Because  string            `yaml:"because" json:"because"`
	// Defect is true if another lock with the same claims avoids the
	// violations. Without it they are inherent.
	Defect bool `yaml:"defect" json:"defect,omitempty"`
}
