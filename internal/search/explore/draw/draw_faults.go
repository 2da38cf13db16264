package draw

import (
	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/internal/party"
)

// fault draws one fault, aimed at a phase if one is given. The topology may not
// support it.
func (d *draw) fault(name string, phase Phase) faults.Spec {
	c := d.anyClient()
	s := faults.Spec{Fault: name}
	d.when(&s, c, phase)
	k, _ := faults.Lookup(name)
	if k.Target == "node" {
		s.Target = faults.Names{d.anyNode()}
	} else {
		s.Target = faults.Names{c}
	}
	if k.Draw != nil {
		k.Draw(dice{d}, &s)
	}
	return s
}

// until sometimes makes a fault of a link end at a moment.
func (d *draw) until(s faults.Spec) faults.Spec {
	if k, _ := faults.Lookup(s.Fault); s.For == 0 || k.Target != "link" || !d.chance(4) {
		return s
	}
	end := &faults.Anchor{Moment: faults.Granted}
	switch d.number(0, 5) {
	case 0:
		end.Moment = faults.Released
	case 1:
		end.Moment = faults.Answered
	case 2:
		end.Moment, end.Client, end.Nth = faults.Received, s.Target[0], d.number(1, 3)
	case 3:
		end.Moment, end.Op, end.Changed = faults.Executed, "acquire", true
	case 4:
		end.Client = d.anyClient()
	}
	s.For, s.Until = 0, end
	return s
}

// lasts draws how long a fault lasts: a moment, a good part of a lease, or past
// it.
func (d *draw) lasts() faults.Duration {
	lease := d.lease()
	switch d.number(0, 2) {
	case 0:
		return d.between(20*ms, 500*ms)
	case 1:
		return d.between(lease/4, lease)
	}
	return d.between(lease, 5*lease/2)
}

// peers draws the other side of a client's links: every server, less than half
// of them, or one.
func (d *draw) peers() faults.Names {
	switch {
	case d.top.Groups > 1 && d.chance(2):
		return d.strictMinority()
	case d.chance(4):
		return faults.Names{d.anyNode()}
	}
	return nil
}

// handedOn is the least rest of a hold that a fair lock hands on. The hold lasts for the
// rest of a place until its first renewal.
const handedOn = faults.Duration(500 * ms)

// remembered is the time by which the notes of the reference lock outlive a request that
// was given up. A copy that arrives later is a new request to every server.
const remembered = faults.Duration(30_000 * ms)

// survivable reports whether the reference lock should survive these faults
// together. A short pause uses up a part of the remaining lease. With other
// obstacles to renewals, or after another pause, that part is unknown.
//
// A pause also excludes work that comes near an unrenewed lease, because it may
// strike when nearly all of the lease is used up. Under a fair lock a pause is shorter
// than what a hold surely has left when it is handed on. No request is kept back for
// longer than servers remember it.
func (d *draw) survivable(specs []faults.Spec) bool {
	fair := d.lock.Claims.Fairness
	for i, s := range specs {
		if s.Traits().Reorders && (s.For == 0 || s.For >= remembered) {
			return false
		}
		if !s.Traits().StopsProcess {
			continue
		}
		if d.worksLong() || fair && s.For > handedOn {
			return false
		}
		for j, o := range specs {
			if i != j && !harmless(o.Traits()) {
				return false
			}
		}
	}
	return true
}

// worksLong reports whether some client with an explicit lease works for half of
// it or longer.
func (d *draw) worksLong() bool {
	for n := range d.s.Topology.Clients {
		think, explicit := d.s.Workload.Think, d.s.Workload.Explicit
		o := d.s.Override[party.Client(n+1)]
		if o.Think != nil {
			think = *o.Think
		}
		if o.Explicit != nil {
			explicit = *o.Explicit
		}
		if explicit && think >= d.s.Workload.Lease/2 {
			return true
		}
	}
	return false
}

// harmless reports whether a fault blocks no renewal: it disturbs at most messages
// to subscribers, replication and the cache of scripts.
func harmless(t history.Traits) bool {
	at := history.Traits{Instant: t.Instant, Lasts: t.Lasts}
	if t.HoldsReplication {
		at.HoldsReplication, at.Cuts = true, t.Cuts
	}
	at.LosesNotices, at.HoldsSubscriptions, at.ForgetsScripts = t.LosesNotices, t.HoldsSubscriptions, t.ForgetsScripts
	return t == at
}
