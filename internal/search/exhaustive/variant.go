package exhaustive

import (
	"slices"

	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/internal/party"
	"github.com/holdfast-go/holdfast/internal/traffic"
)

type class struct {
	Name string
	is   faults.Duration
}

// classes are the durations of faults, shortest first. go-redis waits 3 s for a
// reply, and locks renew after a third of the lease or of half of it.
var classes = []class{
	{"shorter than any timeout", 50 * ms},
	{"longer than the renewal interval", lease/3 + 500*ms},
	{"longer than the client's timeout", 3500 * ms},
	{"longer than the lease", lease + 1000*ms},
	{"longer than any key that the lock writes", longest},
}

// longest is longer than the minute for which a lock keeps its notes. No pause is that
// long. The timers of a paused process go on in the simulated world. So it would wake to
// timeouts which a real one begins to count only then.
const longest = 70000 * ms

const (
	atOnce  = "at once"
	forEver = "for ever"
)

// variant is a fault with all its parameters, apart from its moment.
type variant struct {
	Spec  faults.Spec
	Class string
	// touches are the uses of its links by which the fault makes a difference; none for
	// one that strikes anything else.
	touches traffic.Use
}

// variantsOf are the ways in which a kind of fault strikes some target. Words are
// enumerated, lengths come from the classes. A fault that takes a length of its
// own has the classes there, and lasts for longer than the lease.
func variantsOf(k faults.Kind, t target) []variant {
	specs := []faults.Spec{{Fault: k.Name, Target: faults.Names{t.name}, Peer: t.peer}}
	for _, p := range k.Params {
		var more []faults.Spec
		for _, s := range specs {
			more = append(more, ways(s, p)...)
		}
		specs = more
	}
	var all []variant
	for _, s := range specs {
		all = append(all, lasting(k, s)...)
	}
	return all
}

// ways are the values of a parameter, in copies of a spec.
func ways(s faults.Spec, p faults.Param) []faults.Spec {
	var all []faults.Spec
	for _, word := range p.Words {
		with := s
		switch p.Name {
		case "data":
			with.Data = word
		case "direction":
			with.Direction = word
		case "mode":
			with.Mode = word
		default:
			return []faults.Spec{s}
		}
		all = append(all, with)
	}
	if p.Name == "rate" {
		for _, rate := range []float64{0.5, 2} {
			with := s
			with.Rate = rate
			all = append(all, with)
		}
	}
	if len(all) == 0 {
		return []faults.Spec{s}
	}
	return all
}

func lasting(k faults.Kind, s faults.Spec) []variant {
	var all []variant
	add := func(s faults.Spec, class string) { all = append(all, variant{s, class, touches(k, s)}) }
	if _, by := k.Takes("by"); by {
		for _, c := range classes {
			if c.is == longest {
				continue
			}
			s.By, s.For = c.is, 0
			if k.Lasts {
				s.For = lease + 1000*ms
			}
			add(s, c.Name)
			if k.Sweep != nil && k.Sweep.Signed {
				s.By = -c.is
				add(s, c.Name+", back")
			}
		}
		return all
	}
	if k.Lasts {
		for _, c := range classes {
			if c.is < longest || !k.Traits(s).StopsProcess {
				s.For = c.is
				add(s, c.Name)
			}
		}
		s.For = 0
		switch traits := k.Traits(s); {
		case traits.StopsProcess:
			return all // see longest
		case traits.Lasts:
			add(s, forEver)
			return all
		}
	}
	add(s, atOnce)
	return all
}

// target is the party that a fault strikes; peer is empty for all links.
type target struct {
	name string
	peer faults.Names
}

// targetsOf are the parties that a kind of fault can strike in a topology. A link is
// named by the party that opens it.
func targetsOf(k faults.Kind, top faults.Topology) []target {
	var clients, primaries, replicas []target
	for c := range top.Clients {
		clients = append(clients, target{name: party.Client(c + 1)})
	}
	for g := range top.Groups {
		primary := party.Node(g + 1)
		primaries = append(primaries, target{name: primary})
		for r := range top.Replicas {
			replicas = append(replicas, target{name: party.Replica(primary, r+1), peer: nil})
		}
	}
	switch k.Target {
	case "client":
		return clients
	case "node":
		return append(primaries, replicas...)
	}
	links := slices.Clone(clients)
	if _, peer := k.Takes("peer"); peer && top.Groups > 1 {
		for _, c := range clients {
			for _, p := range primaries {
				links = append(links, target{c.name, faults.Names{p.name}})
			}
		}
	}
	return append(links, replicas...)
}
