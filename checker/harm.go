package checker

// Harm is the meaning of violations for the users of a lock. A larger one is worse.
type Harm int

// The harms.
const (
	NoHarm Harm = iota
	wrongAnswer
	freeLockUnused
	LostUpdates
	Deadlock
	TwoHoldersPastLease
	TwoHolders
)

var harms = map[Harm]struct{ name, remedy string }{
	wrongAnswer:         {"wrong answer to the caller", "Treat an error of an acquire or of a release as an unknown outcome, and find out who holds the lock."},
	freeLockUnused:      {"waits on a free lock", "A waiter sleeps for longer than the lock is taken. Let waiters be notified, and try again after a bounded time."},
	LostUpdates:         {"lost updates", "The resource accepts what an owner does without the lock. Let it check a fencing token, for reads as well."},
	Deadlock:            {"deadlock", "A hold never ends by itself. Give every hold a lease, and set key and lease in one command."},
	TwoHoldersPastLease: {"two holders past a lease", "A holder works on after its lease. Renew the lease, stop when its validity ends, and let the resource check a fencing token."},
	TwoHolders:          {"two holders", "An owner gets the lock while the lease of another lives, so no timeout helps. Let the resource check a fencing token, and keep the lock on more than one server."},
}

// String names the harm.
func (h Harm) String() string { return harms[h].name }

// Remedy says in a sentence or two what to do about the harm.
func (h Harm) Remedy() string { return harms[h].remedy }

// HarmOf is the worst harm of the violated properties of a run.
func HarmOf(verdicts map[Property]Verdict) Harm {
	worst := NoHarm
	for _, p := range properties {
		if verdicts[p.Name].Outcome == Violated {
			worst = max(worst, p.harm(verdicts))
		}
	}
	return worst
}

// always is the harm of a property whose violations are all alike.
func always(h Harm) func(map[Property]Verdict) Harm {
	return func(map[Property]Verdict) Harm { return h }
}
