package locks

import (
	"cmp"
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast/checker/history"
)

// NewThirdParty returns a lock that is judged by its own description. open opens
// it in this process, for the simulated world. open is nil for a lock behind an
// adapter.
func NewThirdParty(d Description, open func(Environment) (Session, error)) (*Subject, error) {
	if _, err := FindSubject(d.Name); err == nil {
		return nil, fmt.Errorf("the name %q is that of a built-in lock", d.Name)
	}
	return newThirdParty(d, open)
}

// newThirdParty is [NewThirdParty] for any name.
func newThirdParty(d Description, open func(Environment) (Session, error)) (*Subject, error) {
	if err := d.Check(); err != nil {
		return nil, err
	}
	return &Subject{
		name: d.Name, summary: d.Summary, Groups: d.Groups(), Fenced: d.Claims.Fencing,
		Claims: func(s Setting) history.Claims { return claimsOfThirdParty(&d, s) }, Open: open,
		Keeps: d.MayStay, ThirdParty: &d,
	}, nil
}

// Description is the description of a third-party lock; false for a built-in lock.
func (s *Subject) Description() (Description, bool) {
	if s.ThirdParty == nil {
		return Description{}, false
	}
	return *s.ThirdParty, true
}

// Waits reports whether an acquire of the lock waits.
func (s *Subject) Waits() bool { return s.ThirdParty == nil || s.ThirdParty.Claims.Waits }

// Key is the key of a lock with a name.
func (s *Subject) Key(name string) string {
	if s.ThirdParty == nil {
		return name
	}
	return s.ThirdParty.KeyOf(name)
}

func claimsOfThirdParty(d *Description, s Setting) history.Claims {
	c := history.Claims{
		Reentrant: d.Claims.Reentrant, Lease: d.Claims.Lease, Renewal: d.Claims.Renewal, Fencing: d.Claims.Fencing,
		Fairness: d.Claims.Fairness, LostSign: d.Claims.LostSign, TakesBack: d.Claims.TakesBack, LeasePerHold: d.Claims.LeasePerHold, Extends: d.Claims.Extends,
		RenewEvery: int64(d.RenewEvery * float64(s.Lease)), Quorum: d.Needs(), Nodes: d.Groups(),
	}
	if d.Acks {
		c.Acks = max(1, s.Acks)
	}
	if x := d.Drift; x != nil {
		c.Drift = &history.Drift{Rate: x.Rate, Const: x.ConstNS}
	}
	c.LeaseUnit, c.LeaseMin, c.LeaseSlack, c.Margin = d.LeaseUnitNS, d.LeaseMinNS, d.LeaseSlackNS, d.MarginNS
	c.Session, c.KeepsConnections = d.SessionNS, d.KeepsConnections
	if d.Claims.Waits {
		c.Handoff = int64(max(s.scaled(d.handoff()), s.Poll) + max(s.scaled(handoffMargin), 2*LongestOperation))
		if d.Claims.Messages && s.Handoff > 0 { // the scenario is about the message, and its bound holds however often the lock looks
			c.Handoff = min(c.Handoff, s.handoff(0))
		}
	}
	return c
}

// handoff is how long a waiter may overlook a free lock.
func (d Description) handoff() time.Duration {
	return cmp.Or(time.Duration(d.HandoffNS), defaultHandoff)
}

// Bundled are the servers that a lock brings; nil for a lock on Redis.
func (s *Subject) Bundled() *BundledServers {
	if s.ThirdParty == nil {
		return nil
	}
	return s.ThirdParty.Servers
}
