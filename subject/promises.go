package subject

import "time"

// Habits are what a lock does without promising it. Of a third-party lock they
// show when it is played.
type Habits struct {
	Scripts bool // sends scripts by their hash
	Looks   bool // reads the key before it sends what deletes it
}

// Promises are the claims of the lock in the words of a [Description], also of a
// built-in one.
func (s *Subject) Promises() Claims {
	if s.ThirdParty != nil {
		return s.ThirdParty.Claims
	}
	c := s.Claims(Setting{Lease: time.Second, Scale: 1})
	return Claims{
		Waits: true, Cancels: true, Explicit: true, Closes: s.Closes, Messages: s.Messages,
		Reentrant: c.Reentrant, Lease: c.Lease, Renewal: c.Renewal, LostSign: c.LostSign, Fencing: c.Fencing, Fairness: c.Fairness, TakesBack: c.TakesBack,
	}
}

// Quorum is on how many of its primaries a hold must be.
func (s *Subject) Quorum() int {
	if s.ThirdParty != nil {
		return s.ThirdParty.Needs()
	}
	return s.Claims(Setting{Lease: time.Second, Scale: 1}).Quorum
}
