package faults

import (
	"errors"
	"fmt"

	"github.com/holdfast-go/holdfast/checker/history"
)

// reset breaks connections, as a restarted proxy or an idle timeout in a firewall
// does. Clients can open new ones at once.
var _ = register(Kind{
	Name:    "reset",
	Summary: "the connections of a link break; new ones can be opened at once",
	Target:  "link",
	anyLink: true,
	Params:  []Param{{Name: "peer"}},
	Traits:  func(Spec) history.Traits { return history.Traits{Instant: true, BreaksConnections: true} },
	Draw:    func(d dice, s *Spec) { s.Peer = d.Peers() },
	Strike: onLinks(func(w World, links []Link, _ Spec, _ uint64) (string, func() error, error) {
		return "connections broken between " + between(links), nil, resetAll(w, links)
	}),
})

func resetAll(w World, links []Link) error {
	var errs []error
	for _, l := range links {
		if err := w.Reset(l); err != nil {
			errs = append(errs, fmt.Errorf("%s to %s: %w", l.From, l.To, err))
		}
	}
	return errors.Join(errs...)
}
