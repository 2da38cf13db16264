package locks

import (
	"cmp"
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast/checker/history"
)

// NewThirdParty returns a lock that is judged by its own description. open opens it in
// this process, for the simulated world. open is nil for a lock behind an adapter.
func NewThirdParty(d Description, open func(Environment) (Session, error)) (*Lock, error) {
	if _, err := Find(d.Name); err == nil {
		return nil, fmt.Errorf("the name %q is that of a built-in lock", d.Name)
	}
	return newThirdParty(d, open)
}

// newThirdParty is [NewThirdParty] for any name.
func newThirdParty(d Description, open func(Environment) (Session, error)) (*Lock, error) {
	if err := d.Check(); err != nil {
		return nil, err
	}
	return fromDescription(&d, open), nil
}

func fromDescription(d *Description, open func(Environment) (Session, error)) *Lock {
	return &Lock{
		name: d.Name, summary: d.Summary, Groups: d.Groups(), quorum: d.Quorum, Claims: d.Claims,
		numbers: d.numbers, Open: open, Keeps: d.MayStay, ThirdParty: d,
	}
}

// Description is the description of a third-party lock; false for a built-in lock.
func (s *Lock) Description() (Description, bool) {
	if s.ThirdParty == nil {
		return Description{}, false
	}
	return *s.ThirdParty, true
}

// Key is the key of a lock with a name.
func (s *Lock) Key(name string) string {
	if s.ThirdParty == nil {
		return name
	}
	return s.ThirdParty.KeyOf(name)
}

func (d *Description) numbers(s Setting) history.Terms {
	t := history.Terms{
		RenewEvery: int64(d.RenewEvery * float64(s.Lease)), LeaseUnit: d.LeaseUnitNS, LeaseMin: d.LeaseMinNS, LeaseSlack: d.LeaseSlackNS,
		Margin: d.MarginNS, Session: d.SessionNS, KeepsConnections: d.KeepsConnections,
	}
	if x := d.Drift; x != nil {
		t.Drift = &history.Drift{Rate: x.Rate, Const: x.ConstNS}
	}
	if d.Claims.Waits {
		t.Handoff = int64(max(s.scaled(d.handoff()), s.Poll) + max(s.scaled(handoffMargin), 2*LongestOperation))
		if d.Claims.Messages && s.Handoff > 0 { // the scenario is about the message, and its bound holds however often the lock looks
			t.Handoff = min(t.Handoff, s.handoff(0))
		}
	}
	return t
}

// handoff is the time for which a waiter may overlook a free lock.
func (d Description) handoff() time.Duration {
	return cmp.Or(time.Duration(d.HandoffNS), defaultHandoff)
}

// Bundled are the servers that a lock brings; nil for a lock on Redis.
func (s *Lock) Bundled() *BundledServers {
	if s.ThirdParty == nil {
		return nil
	}
	return s.ThirdParty.Servers
}
