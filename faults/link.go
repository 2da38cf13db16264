package faults

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/Shopify/toxiproxy/v2/stream"
	toxiproxy "github.com/Shopify/toxiproxy/v2/toxics"

	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/internal/party"
	"github.com/holdfast-go/holdfast/internal/toxics"
)

// checkLinks returns an error unless every target has a link to a peer. Most faults
// strike the links from clients to nodes only.
func checkLinks(s Spec, t Topology, clientsOnly bool) error {
	for _, x := range s.Target {
		if clientsOnly && !party.IsClient(x) {
			return fmt.Errorf("the target is a client, not %s: it strikes the link from a client to a node", x)
		}
	}
	for _, y := range s.Peer {
		if clientsOnly && party.IsClient(y) {
			return fmt.Errorf("the peer is a node, not %s: it strikes the link from a client to a node", y)
		}
		if !slices.ContainsFunc(s.Target, func(x string) bool { return linked(x, y) }) {
			return fmt.Errorf("nothing links %s and %s: links run from a client to a node, and from a replica to its primary",
				strings.Join(s.Target, ", "), y)
		}
	}
	for _, x := range s.Target {
		if !slices.ContainsFunc(peers(s, t), func(y string) bool { return linked(x, y) }) {
			return fmt.Errorf("nothing links %s and %s: links run from a client to a node, and from a replica to its primary",
				x, strings.Join(peers(s, t), ", "))
		}
	}
	return nil
}

// peers is the other party of a link fault, by default all nodes.
func peers(s Spec, t Topology) []string {
	if len(s.Peer) > 0 {
		return s.Peer
	}
	return nodeNames(t)
}

func linked(x, y string) bool {
	if party.IsClient(x) || party.IsClient(y) {
		return party.IsClient(x) != party.IsClient(y)
	}
	return x != y && groupOf(x) == groupOf(y)
}

// onLinks strikes the links between the targets and their peers.
func onLinks(strike func(w World, links []Link, s Spec, seed uint64) (string, func() error, error)) strikeFunc {
	return func(w World, s Spec, t Topology, seed uint64) (string, func() error, error) {
		links, err := linksOf(s, t, w)
		if err != nil {
			return "", nil, err
		}
		return strike(w, links, s, seed)
	}
}

// linksOf lists the links between targets and peers by their present roles: two
// servers have a link if one of them is the primary.
func linksOf(s Spec, t Topology, w World) ([]Link, error) {
	var links []Link
	add := func(l Link) {
		if !slices.Contains(links, l) {
			links = append(links, l)
		}
	}
	for _, x := range resolve(s.Target, w) {
		for _, y := range resolve(peers(s, t), w) {
			switch {
			case !linked(x, y):
			case party.IsClient(x):
				add(Link{From: x, To: y})
			case party.IsClient(y):
				add(Link{From: y, To: x})
			case w.Primary(groupOf(x)) == y:
				add(Link{From: x, To: y})
			case w.Primary(groupOf(x)) == x:
				add(Link{From: y, To: x})
			}
		}
	}
	if len(links) == 0 {
		return nil, fmt.Errorf("nothing links %s and %s now", strings.Join(s.Target, ", "), strings.Join(peers(s, t), ", "))
	}
	return links, nil
}

// replication lists the present replication links of a node: to all its replicas
// for a primary, its own for a replica.
func replication(s Spec, t Topology, w World) []Link {
	var links []Link
	for _, node := range resolve(s.Target, w) {
		primary := w.Primary(groupOf(node))
		for _, replica := range members(t, groupOf(node)) {
			l := Link{From: replica, To: primary}
			if replica != primary && (node == primary || node == replica) && !slices.Contains(links, l) {
				links = append(links, l)
			}
		}
	}
	return links
}

func needsReplicas(_ Spec, t Topology) error {
	if t.Replicas == 0 {
		return errors.New("needs a replica: the topology has none (replicas: 1 or more)")
	}
	return nil
}

// attach adds one toxic to all links, in the given directions, or to none.
func attach(w attacher, links []Link, dirs []stream.Direction, t toxiproxy.Toxic) (detach func(), err error) {
	var detaches []func()
	detach = func() {
		for _, d := range detaches {
			d()
		}
	}
	for _, l := range links {
		for _, dir := range dirs {
			d, err := w.Attach(l, dir, t)
			if err != nil {
				detach()
				return nil, fmt.Errorf("%s to %s: %w", l.From, l.To, err)
			}
			detaches = append(detaches, d)
		}
	}
	return detach, nil
}

// managed is a toxic that forwards the held data when it is removed.
type managed interface {
	toxiproxy.Toxic
	Manage(attach func() (detach func(), err error)) (heal func() error, err error)
}

// on adds a managed toxic to links until heal.
func on(w attacher, links []Link, dirs []stream.Direction, t managed) (heal func() error, err error) {
	return t.Manage(func() (func(), error) { return attach(w, links, dirs, t) })
}

// Cut holds all data on the links, both ways, until heal forwards it in order.
// Other toxics do not affect it. A bare [Hold] would forward its data whenever
// another toxic is chained.
func Cut(w attacher, links []Link) (heal func(), err error) {
	h := new(toxics.Hold)
	off, err := on(w, links, []stream.Direction{stream.Upstream, stream.Downstream}, h)
	if err != nil {
		return nil, err
	}
	return sync.OnceFunc(func() { _ = off() }), nil // a queueing toxic's heal cannot fail
}

// Values of the parameter direction; both is the default.
const (
	toNode   = "to-node"
	toClient = "to-client"
)

var directionWords = []string{"both", toNode, toClient}

// directions reads the parameter of that name.
func directions(s Spec) []stream.Direction {
	switch s.Direction {
	case toNode:
		return []stream.Direction{stream.Upstream}
	case toClient:
		return []stream.Direction{stream.Downstream}
	}
	return []stream.Direction{stream.Upstream, stream.Downstream}
}

// held returns the directions in which a fault with this parameter holds messages.
func held(s Spec) (requests, replies bool) { return s.Direction != toClient, s.Direction != toNode }

// drawDirection draws the parameter of that name. It prefers both.
func drawDirection(d dice) string { return []string{"", "", toNode, toClient}[d.Number(0, 3)] }

// setBy sets the delay of a fault, and keeps the jitter smaller.
func setBy(s *Spec, by Duration) { s.By, s.Jitter = by, min(s.Jitter, by) }

// The reasons why only Redis supports some faults.
const (
	channelsOnly    = "messages on a channel are Redis'"
	requestsUnknown = "what a request says is known of Redis only"
	clocksUnknown   = "nothing is known of the clocks of servers that the lock brings along"
)

// between names the links: "client-1 and node-1, client-1 and node-2".
func between(links []Link) string {
	words := english.Words(links, func(l Link) string { return l.From + " and " + l.To })
	return strings.Join(words, ", ")
}
