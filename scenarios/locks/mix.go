package locks

import (
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast/checker/history"
)

// Mix combines two implementations that contend for the same keys: in the live
// world every other client process runs the second one. The mix promises what both
// promise. Mix refuses locks that store their holds in different ways, and locks
// with bundled servers.
func Mix(a, b *Subject) (*Subject, error) {
	x, y := a.description(), b.description()
	switch {
	case x.Servers != nil || y.Servers != nil:
		return nil, fmt.Errorf("%s and %s cannot be mixed: one brings its own servers along", a.name, b.name)
	case x.Groups() != y.Groups() || x.Needs() != y.Needs():
		return nil, fmt.Errorf("%s and %s cannot be mixed: they live on different numbers of servers", a.name, b.name)
	case x.KeyOf("name") != y.KeyOf("name"):
		return nil, fmt.Errorf("%s and %s cannot be mixed: their keys differ", a.name, b.name)
	}
	d := Description{
		Name: a.name + "+" + b.name, Summary: "processes of " + a.name + " and of " + b.name + " that share a lock",
		Version: x.Version, Claims: common(x.Claims, y.Claims), Primaries: x.Groups(), Quorum: x.Needs(), Key: x.Key,
		HandoffNS: max(x.HandoffNS, y.HandoffNS), Keeps: append(x.Keeps, y.Keeps...), Known: append(x.Known, y.Known...),
	}
	if d.Claims.Renewal {
		d.RenewEvery = max(x.RenewEvery, y.RenewEvery)
	}
	for _, through := range []string{ThroughAddress, ThroughSentinels, ThroughCluster} {
		if x.CanReach(through) && y.CanReach(through) {
			d.Reaches = append(d.Reaches, through)
		}
	}
	return &Subject{
		name: d.Name, summary: d.Summary, Groups: d.Groups(), Fenced: d.Claims.Fencing,
		Claims:     func(s Setting) history.Claims { return claimsOfThirdParty(&d, s) },
		Keeps:      func(name, key string) bool { return a.Keeps(name, key) || b.Keeps(name, key) },
		ThirdParty: &d,
	}, nil
}

// common are the promises that both sides make.
func common(a, b Claims) Claims {
	return Claims{
		Waits: a.Waits && b.Waits, Cancels: a.Cancels && b.Cancels, Closes: a.Closes && b.Closes, Reentrant: a.Reentrant && b.Reentrant,
		Lease: a.Lease && b.Lease, Explicit: a.Explicit && b.Explicit, Renewal: a.Renewal && b.Renewal, LostSign: a.LostSign && b.LostSign,
		Fencing: a.Fencing && b.Fencing, Fairness: a.Fairness && b.Fairness, TakesBack: a.TakesBack && b.TakesBack, Messages: a.Messages && b.Messages,
		LeasePerHold: a.LeasePerHold && b.LeasePerHold, Extends: a.Extends && b.Extends, ShutsDown: a.ShutsDown && b.ShutsDown,
	}
}

// description is the description of the lock, or the one that it would have as a
// third-party lock.
func (s *Subject) description() Description {
	if s.ThirdParty != nil {
		return *s.ThirdParty
	}
	lease := time.Second
	c := s.Claims(Setting{Lease: lease, Scale: 1})
	return Description{
		Name: s.name, Summary: s.summary, Primaries: c.Nodes, Quorum: c.Quorum,
		Claims: Claims{
			Waits: true, Cancels: true, Closes: true, Reentrant: c.Reentrant, Lease: c.Lease, Explicit: c.Lease, Renewal: c.Renewal,
			LostSign: c.LostSign, Fencing: c.Fencing, Fairness: c.Fairness, TakesBack: c.TakesBack, Messages: c.TakesBack && c.Nodes == 1,
			LeasePerHold: c.LeasePerHold, Extends: c.Extends,
		},
		RenewEvery: float64(c.RenewEvery) / float64(lease), HandoffNS: c.Handoff - int64(handoffMargin),
	}
}
