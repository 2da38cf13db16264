package explore

import (
	"time"

	"github.com/holdfast-go/holdfast/faults"
)

// fault draws one fault, aimed at a phase when one is given. The topology may
// be unable to carry it.
func (d *draw) fault(name string, phase Phase) faults.Spec {
	c := d.anyClient()
	s := faults.Spec{Fault: name}
	d.when(&s, c, phase)
	if k, _ := faults.Lookup(name); k.Target == "node" {
		s.Target = faults.Names{d.anyNode()}
	} else {
		s.Target = faults.Names{c}
	}
	if set := parameters[name]; set != nil {
		set(d, &s)
	}
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

// parameters draws what a kind of fault takes besides target and time.
var parameters = map[string]func(d *draw, s *faults.Spec){
	"pause": func(d *draw, s *faults.Spec) {
		s.For = d.between(20*ms, d.lease()/5)
		if !d.Survivable && !d.chance(3) {
			s.For = d.between(d.lease(), 5*d.lease()/2)
		}
	},
	"partition": func(d *draw, s *faults.Spec) {
		s.For = d.lasts()
		s.Peer = d.peers()
		s.Direction = []string{"", "", "to-node", "to-client"}[d.number(0, 3)]
	},
	"delay": func(d *draw, s *faults.Spec) {
		s.By, s.For = d.between(5*ms, d.lease()/3), d.lasts()
		if d.chance(4) {
			s.By = d.between(d.lease()/3, 3*d.lease()/2)
		}
		if d.chance(2) {
			s.Jitter = d.between(0, time.Duration(s.By))
		}
		s.Peer = d.peers()
		s.Direction = []string{"", "", "to-node", "to-client"}[d.number(0, 3)]
	},
	"hold-reply": func(d *draw, s *faults.Spec) {
		s.For = d.between(100*ms, 3000*ms)
		s.Peer = d.peers()
	},
	"reset":        func(d *draw, s *faults.Spec) { s.Peer = d.peers() },
	"drop-message": func(d *draw, s *faults.Spec) { s.For = d.between(500*ms, 4*d.lease()) },
	"slow-subscribe": func(d *draw, s *faults.Spec) {
		s.By, s.For = d.between(50*ms, 1500*ms), d.between(500*ms, 2*d.lease())
	},
	"node-crash": func(d *draw, s *faults.Spec) { s.For = d.lasts() },
	"node-restart": func(d *draw, s *faults.Spec) {
		s.Data = "keep"
		if !d.Survivable && !d.chance(3) {
			s.Data = "lose"
		}
		if d.chance(2) {
			s.For = d.lasts()
		}
	},
	"failover": func(d *draw, s *faults.Spec) {
		if d.top.Replicas == 0 {
			return // the topology refuses it
		}
		p := d.primary()
		s.Target = faults.Names{p}
		s.To = d.replica(p)
		switch d.number(0, 5) {
		case 0:
			s.Mode = "planned"
		case 1:
			s.Mode = "isolate"
		default:
			s.For = d.between(500*ms, 4000*ms)
		}
	},
	"replication-lag": func(d *draw, s *faults.Spec) {
		s.By, s.For = d.between(20*ms, 2000*ms), d.lasts()
	},
	"cut-replication": func(d *draw, s *faults.Spec) { s.For = d.lasts() },
	"clock-jump": func(d *draw, s *faults.Spec) {
		s.By = d.between(d.lease()/4, 3*d.lease())
		if d.chance(4) {
			s.By = -s.By
		}
	},
	"clock-drift": func(d *draw, s *faults.Spec) {
		s.Rate = []float64{0.5, 0.8, 0.95, 1.05, 1.2, 1.5, 2}[d.number(0, 6)]
		s.For = d.lasts()
	},
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

// survivable says whether the reference lock should survive these faults
// together. A short pause eats from what remains of a lease; where something
// else keeps renewals away, or one pause follows another, nobody knows how much
// that is.
//
// Nor does a pause go with work that comes near a lease that nobody renews: it
// may strike when nearly all of the lease is used up.
func (d *draw) survivable(specs []faults.Spec) bool {
	for i, s := range specs {
		if s.Fault != "pause" {
			continue
		}
		if d.worksLong() {
			return false
		}
		for j, o := range specs {
			if i != j && !harmless[o.Fault] {
				return false
			}
		}
	}
	return true
}

// worksLong says whether some client that asks for its lease explicitly works
// for half of it or longer.
func (d *draw) worksLong() bool {
	for n := range d.s.Topology.Clients {
		think, explicit := d.s.Workload.Think, d.s.Workload.Explicit
		o := d.s.Override[client(n+1)]
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

// harmless are the faults that keep no renewal away.
var harmless = map[string]bool{"drop-message": true, "slow-subscribe": true, "cut-replication": true, "replication-lag": true, "script-flush": true}
