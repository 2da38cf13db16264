package suite

import (
	"fmt"
	"slices"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// BothUsers plays a lock with a careful and with a careless user.
const BothUsers = "both"

func UserChoices() []string { return []string{history.Careful, history.Careless, BothUsers} }

func CheckUsers(choice string) error {
	switch choice {
	case history.Careful, history.Careless, BothUsers:
		return nil
	}
	return fmt.Errorf("unknown kind of user %q: it is careful, careless or both", choice)
}

// noCarefulUser is the reason for playing a lock with careless users only.
const noCarefulUser = "no user of it can be careful: it claims neither a lease nor a sign of loss"

// noWaitAtFirst is the reason for which a lock without a sign of loss has no careful user in
// some scenarios. They end a wait, or their fault waits for a message or a subscription.
const noWaitAtFirst = "the fault needs a wait, and a careful user of the lock asks without waiting until it has seen that grants name their validity"

// UsersOf are the kinds of user that play a lock which is not built in, as runs
// name them. "" is the user of the scenario, who is careless by default. A
// built-in lock has only that one, and so has a scenario that names its user.
// missing is the reason why none of the requested kinds exists, or "".
func UsersOf(s *scenarios.Scenario, l *locks.Lock, choice string) (users []string, missing string) {
	if l.ThirdParty == nil || s.NamesUser() {
		return []string{""}, ""
	}
	if choice != history.Careful {
		users = append(users, "")
	}
	if choice != history.Careless {
		switch {
		case !l.HasCarefulUser():
			missing = noCarefulUser
		case !l.Claims.LostSign && slices.ContainsFunc(s.Faults, func(f faults.Spec) bool {
			return f.Traits().Cancels || f.On != nil && (f.On.Moment == faults.Published || f.On.Moment == faults.Delivered || f.On.Command == "SUBSCRIBE")
		}):
			missing = noWaitAtFirst
		default:
			users = append(users, history.Careful)
		}
	}
	return users, missing
}
