package exhaustive

import (
	"strings"

	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/subject"
)

// Rules say why a placement is not played. None needs a run.
const (
	// Unavailable: the topology cannot carry the fault, or the fault does not take
	// these parameters together.
	Unavailable = "the fault is not available"
	// Absent: the fault would find nothing to strike at that moment.
	Absent = "the target is not there"
)

// Rules lists the rules.
var Rules = []string{Unavailable, Absent}

// Placement is a fault at a moment of a base.
type Placement struct {
	Base  string      `json:"base"`
	Fault faults.Spec `json:"fault"`
	Class string      `json:"class"` // of its duration
}

// Phase is the moment without names and numbers: "executed release".
func (p Placement) Phase() string {
	a := p.Fault.On
	return strings.TrimSpace(a.Moment + " " + a.Op)
}

// moment is a moment of a base, with what is known of the clients by then.
type moment struct {
	anchor faults.Anchor
	busy   map[string]bool // clients that are in an operation
}

// momentsOf are the moments of clients among those that a base has announced.
// Each has an anchor that selects it alone, also in a run that is the same up to
// there.
func momentsOf(announced []faults.Moment) []moment {
	var all []moment
	busy := map[string]bool{}
	for i, m := range announced {
		if m.Name == faults.Invoked {
			busy[m.Client] = true
		}
		if strings.HasPrefix(m.Client, "client-") {
			a := faults.AnchorOf(m, announced[:i])
			now := map[string]bool{}
			for c := range busy {
				now[c] = true
			}
			all = append(all, moment{a, now})
		}
		if m.Name == faults.Granted || m.Name == faults.Refused || m.Name == faults.Released {
			delete(busy, m.Client)
		}
	}
	return all
}

// place enumerates the placements of a base: by moment, kind of fault, target and
// variant, in this order. It counts what the rules leave out.
func place(b Base, l *subject.Subject, kinds []string, moments []moment) (placements []Placement, notPlayed map[string]int) {
	top := b.scenario(l).World(l)
	notPlayed = map[string]int{}
	var able []variant
	for _, name := range kinds {
		k, _ := faults.Lookup(name)
		for _, t := range targetsOf(k, top) {
			for _, v := range variantsOf(k, t) {
				at := faults.Duration(0)
				try := v.Spec
				try.At = &at
				s := b.with(l, b.Name, try)
				if ok, _ := s.Applies(l); ok {
					able = append(able, v)
				} else {
					notPlayed[Unavailable] += len(moments)
				}
			}
		}
	}
	for _, m := range moments {
		for _, v := range able {
			if absent(v.Spec, m) {
				notPlayed[Absent]++
				continue
			}
			anchor := m.anchor
			v.Spec.On = &anchor
			placements = append(placements, Placement{b.Name, v.Spec, v.Class})
		}
	}
	return placements, notPlayed
}

// absent says that a fault finds nothing to strike: a client in no operation has
// nothing to cancel, and nobody takes over from a replica.
func absent(s faults.Spec, m moment) bool {
	traits := faults.TraitsOf(s)
	return traits.Cancels && !m.busy[s.Target[0]] || traits.Promotes && strings.Contains(s.Target[0], "-replica-")
}
