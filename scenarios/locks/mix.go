package locks

import (
	"fmt"
	"time"
)

// Mix combines two implementations that contend for the same keys: in the live world
// every other client process runs the second one. The mix promises what both promise. Mix
// refuses locks that store their holds in different ways, and locks with bundled servers.
func Mix(a, b *Lock) (*Lock, error) {
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
		Version: x.Version, Claims: x.Claims.Common(y.Claims), Primaries: x.Groups(), Quorum: x.Needs(), Key: x.Key,
		HandoffNS: max(x.HandoffNS, y.HandoffNS), Keeps: append(x.Keeps, y.Keeps...), Known: append(x.Known, y.Known...),
	}
	if a.Holder() == HolderNone || b.Holder() == HolderNone {
		d.Holder = HolderNone
	}
	if d.Claims.Renewal {
		d.RenewEvery = max(x.RenewEvery, y.RenewEvery)
	}
	for _, through := range []string{throughAddress, ThroughSentinels, ThroughCluster} {
		if x.CanReach(through) && y.CanReach(through) {
			d.Reaches = append(d.Reaches, through)
		}
	}
	mixed := fromDescription(&d, nil)
	mixed.Keeps = func(name, key string) bool { return a.Keeps(name, key) || b.Keeps(name, key) }
	return mixed, nil
}

// description is the description of the lock, or the one that it would have as a
// third-party lock.
func (s *Lock) description() Description {
	if s.ThirdParty != nil {
		return *s.ThirdParty
	}
	lease := time.Second
	t := s.Terms(Setting{Lease: lease, Scale: 1})
	return Description{
		Name: s.name, Summary: s.summary, Holder: s.holder, Primaries: t.Nodes, Quorum: t.Quorum, Claims: s.Claims,
		RenewEvery: float64(t.RenewEvery) / float64(lease), HandoffNS: t.Handoff - int64(handoffMargin),
	}
}
