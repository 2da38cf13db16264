package scenarios

import (
	"fmt"
	"slices"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// canDo reports whether a lock can do the workload of the scenario, or the reason
// why not.
func (s *Scenario) canDo(l *locks.Lock) (ok bool, reason string) {
	missing := l.Server().Missing(l.Sends)
	switch {
	case missing != "":
		return false, fmt.Sprintf("it sends %s, which %s does not know", missing, l.Server().Name)
	case l.Acks && s.Topology.Replicas == 0:
		return false, "there is no replica to wait for"
	case l.Acks && s.Topology.Replicas < s.Workload.Acks:
		return false, fmt.Sprintf("it waits for %d replicas, and there are %d", s.Workload.Acks, s.Topology.Replicas)
	case l.Groups > 1 && s.onCluster(l):
		reason = "it needs independent primaries, not the slots of one cluster"
		if !s.Topology.Cluster {
			reason += ", and " + l.Server().Name + " is offered as a cluster only"
		}
		return false, reason
	case len(s.Workload.Nested) > 0 && !l.Claims.Reentrant:
		return false, lacks("reentrant")
	case s.extends() && !l.Claims.Extends:
		return false, lacks("extends")
	case s.Workload.Permits > 1 && !l.Claims.Weighted:
		return false, lacks("weighted")
	case s.Workload.Turn != "" && !l.Claims.Has(s.Workload.Turn):
		return false, lacks(s.Workload.Turn)
	case s.Workload.Observe > 0 && !l.Claims.Observes:
		return false, lacks("observes")
	case s.shutsDown() && !l.Claims.ShutsDown:
		return false, lacks("shuts_down")
	case s.Workload.User == history.Careful && !l.HasCarefulUser():
		return false, "no user of it can be careful: it claims neither a lease nor a sign of loss"
	}
	if l.CheckName != nil {
		for _, name := range s.Workload.Names() {
			if err := l.CheckName(name); err != nil {
				return false, err.Error()
			}
		}
	}
	if l.ThirdParty != nil {
		return s.thirdPartyCanDo(l)
	}
	return true, ""
}

// thirdPartyCanDo reports whether a third-party lock claims what the workload needs.
func (s *Scenario) thirdPartyCanDo(l *locks.Lock) (ok bool, reason string) {
	d := l.ThirdParty
	switch {
	case s.onCluster(l) && !d.CanReach(locks.ThroughCluster):
		return false, "its client is not one for a cluster"
	case s.Has(func(t history.Traits) bool { return t.Cancels }) && !d.Claims.Cancels:
		return false, lacks("cancels")
	case s.Has(touchesSubscribersAlone) && !d.Claims.Messages:
		return false, lacks("messages")
	case s.closes() && !d.Claims.Closes:
		return false, lacks("closes")
	case s.explicit() && d.Claims.Lease && !d.Claims.Explicit && (d.Claims.Renewal || !s.extends()):
		return false, lacks("explicit") // a lease that nothing renews is as good, if it is extended
	}
	return true, ""
}

// touchesSubscribersAlone reports whether a fault can disturb no lock that sends requests
// only.
func touchesSubscribersAlone(t history.Traits) bool {
	rest := t
	rest.Lasts, rest.LosesNotices, rest.HoldsSubscriptions = false, false, false
	return rest == history.Traits{} && (t.LosesNotices || t.HoldsSubscriptions)
}

// Has reports whether the scenario has a fault whose traits satisfy a condition.
func (s *Scenario) Has(traits func(history.Traits) bool) bool {
	return slices.ContainsFunc(s.Faults, func(f faults.Spec) bool { return traits(f.Traits()) })
}

// AboutCommands reports whether a fault waits for a certain Redis command, or for a
// message, which only some locks send. For a third-party lock the run shows whether it does.
func (s *Scenario) AboutCommands() bool {
	return slices.ContainsFunc(s.Faults, func(f faults.Spec) bool {
		return f.On != nil && (f.On.Command != "" || f.On.Moment == faults.Published || f.On.Moment == faults.Delivered)
	})
}

// anyWorkload reports whether the workload of any client has a property.
func (s *Scenario) anyWorkload(has func(Workload) bool) bool {
	for i := range s.Topology.Clients {
		if has(s.WorkloadOf(i + 1)) {
			return true
		}
	}
	return has(s.Workload)
}

// closes reports whether a client closes its lock handle in the middle of work.
func (s *Scenario) closes() bool { return s.anyWorkload(func(w Workload) bool { return w.Close > 0 }) }

// extends reports whether a client extends a hold.
func (s *Scenario) extends() bool {
	return s.anyWorkload(func(w Workload) bool { return w.Extend > 0 })
}

// shutsDown reports whether a client ends its work with a shutdown.
func (s *Scenario) shutsDown() bool {
	return s.anyWorkload(func(w Workload) bool { return w.Shutdown })
}

// explicit reports whether any acquire requests its own lease.
func (s *Scenario) explicit() bool {
	return s.anyWorkload(func(w Workload) bool {
		return w.Explicit || slices.ContainsFunc(w.Nested, func(d faults.Duration) bool { return d > 0 })
	})
}
