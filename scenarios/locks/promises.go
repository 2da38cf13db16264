package locks

import "time"

// Habits are features of a lock that are no promises. For a third-party lock they
// show only in a run.
type Habits struct {
	Scripts bool // sends scripts by their hash
	Looks   bool // reads the key before it deletes it
}

// Promises are the claims of any lock, also a built-in one, in the form of a
// [Description].
func (s *Subject) Promises() Claims {
	if s.ThirdParty != nil {
		return s.ThirdParty.Claims
	}
	c := s.Claims(Setting{Lease: time.Second, Scale: 1})
	return Claims{
		Waits: true, Cancels: true, Explicit: true, Closes: s.Closes, Messages: s.Messages,
		Reentrant: c.Reentrant, Lease: c.Lease, Renewal: c.Renewal, LostSign: c.LostSign, Fencing: c.Fencing, Fairness: c.Fairness, TakesBack: c.TakesBack,
		LeasePerHold: c.LeasePerHold, Extends: c.Extends, ShutsDown: s.ShutsDown,
	}
}

// Quorum is the number of primaries that a hold needs.
func (s *Subject) Quorum() int {
	if s.ThirdParty != nil {
		return s.ThirdParty.Needs()
	}
	return s.Claims(Setting{Lease: time.Second, Scale: 1}).Quorum
}
