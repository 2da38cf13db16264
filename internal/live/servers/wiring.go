package servers

import (
	"errors"
	"fmt"
	"net"
	"slices"

	"github.com/Shopify/toxiproxy/v2/stream"
	"github.com/Shopify/toxiproxy/v2/toxics"

	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/internal/live/processes"
	"github.com/holdfast-go/holdfast/internal/live/proxy"
	"github.com/holdfast-go/holdfast/internal/party"
)

// busOf names a cluster node's end of the cluster bus, over which the nodes gossip
// and vote. The link from node-2 to busOf("node-1") carries the requests of node-2
// there. The link from node-2 to node-1 carries replication.
func busOf(node string) string { return node + "/bus" }

// connect makes the links between everybody who may talk to one another, and
// opens the doors of the servers and the listeners of the clients.
func (s *Servers) connect() error {
	for _, to := range s.order {
		for _, from := range s.order {
			if from != to && s.external() == nil && (from.sentinel || from.group == to.group) {
				s.addLink(from.Name, to.Name)
			}
			if from != to && s.external() == nil && s.opts.Cluster {
				s.addLink(from.Name, busOf(to.Name))
			}
		}
		for c := 1; c <= s.opts.Clients; c++ {
			l := s.addLink(party.Client(c), to.Name)
			if s.moments != nil && !to.sentinel && s.bundled() == nil {
				l.Tap(s.moments, to.ended, to.killed.Load)
			}
		}
	}
	for _, to := range s.order {
		if to.external != nil {
			continue // it announces what it likes
		}
		var err error
		if s.bundled() != nil { // clients have no need of its door
			if s.bundled().TwoPeers {
				if err := s.openPairs(to); err != nil {
					return err
				}
			} else if to.door, err = proxy.Listen(to.busAddr, s.member(to, func() *net.TCPAddr { return to.door.Addr() }), nil); err != nil {
				return err
			}
			continue
		}
		if to.door, err = proxy.Listen(to.addr, s.knocking(to.Name), nil); err != nil {
			return err
		}
		if s.opts.Cluster {
			if to.busDoor, err = proxy.Listen(to.busAddr, s.knocking(busOf(to.Name)), nil); err != nil {
				return err
			}
		}
	}
	for c := 1; c <= s.opts.Clients; c++ {
		client := party.Client(c)
		own := map[string]*proxy.Listener{}
		s.clients[client] = own
		for _, to := range s.order {
			l := s.links[faults.Link{From: client, To: to.Name}]
			g, err := proxy.Listen(to.openAddr, func(*net.TCPAddr) *proxy.Link { return l }, to.greeting())
			if err != nil {
				return err
			}
			own[to.Name] = g
		}
	}
	return nil
}

func (s *Servers) disconnect() error {
	for _, listeners := range s.clients {
		for _, l := range listeners {
			l.Close()
		}
	}
	var errs []error
	for _, l := range s.links {
		errs = append(errs, l.Close())
	}
	return errors.Join(errs...)
}

func (s *Servers) addLink(from, to string) *proxy.Link {
	id := faults.Link{From: from, To: to}
	s.links[id] = proxy.NewLink(id, s.parties)
	return s.links[id]
}

// knocking finds the link of a server that connects to a door.
func (s *Servers) knocking(to string) proxy.Finder {
	return func(from *net.TCPAddr) *proxy.Link {
		for _, srv := range s.order {
			if srv.source.Equal(from.IP) {
				return s.links[faults.Link{From: srv.Name, To: to}]
			}
		}
		return nil
	}
}

// openPairs opens two doors of a server for each of the others. So the node need not find
// out which server connects: a member that votes may close its connection at once.
func (s *Servers) openPairs(to *Server) error {
	to.pairs = map[string][]*proxy.Listener{}
	for _, from := range s.order {
		for _, server := range []func() string{to.busAddr, to.peer2Addr} {
			l := s.links[faults.Link{From: from.Name, To: to.Name}]
			if l == nil {
				continue // to itself
			}
			door, err := proxy.Listen(server, func(*net.TCPAddr) *proxy.Link { return l }, nil)
			if err != nil {
				return err
			}
			to.pairs[from.Name] = append(to.pairs[from.Name], door)
		}
	}
	return nil
}

// member finds the link of a foreign server that connects to a door.
func (s *Servers) member(to *Server, door func() *net.TCPAddr) proxy.Finder {
	return func(from *net.TCPAddr) *proxy.Link {
		inode := processes.SocketInode(from, door())
		for _, srv := range s.order {
			if pid := srv.PID(); inode != "" && pid != 0 && processes.HasSocket(pid, inode) {
				return s.links[faults.Link{From: srv.Name, To: to.Name}]
			}
		}
		return nil
	}
}

// behind finds the server that announces an address.
func (s *Servers) behind(addr string) (*Server, bool) {
	i := slices.IndexFunc(s.order, func(srv *Server) bool { return slices.Contains(srv.announced(), addr) })
	if i < 0 {
		return nil, false
	}
	return s.order[i], true
}

func (s *Servers) link(l faults.Link) (*proxy.Link, error) {
	if found := s.links[l]; found != nil {
		return found, nil
	}
	return nil, fmt.Errorf("nothing links %s to %s in this world", l.From, l.To)
}

// Attach puts a toxic on every connection of a link, present and future, in
// one direction, and returns the function that takes it off again. Besides the
// links of [faults.World] there are those from Sentinels to nodes and to one
// another, and those to the bus of a cluster's node.
func (s *Servers) Attach(l faults.Link, dir stream.Direction, t toxics.Toxic) (detach func(), err error) {
	found, err := s.link(l)
	if err != nil {
		return nil, err
	}
	back := s.links[faults.Link{From: l.To, To: l.From}]
	if s.bundled() == nil || back == nil {
		return found.Attach(dir, t)
	}
	// Members connect to one another, both of two: the same bytes go the other
	// way on what the other one has opened.
	off, err := found.Attach(dir, t)
	if err != nil {
		return nil, err
	}
	offBack, err := back.Attach(opposite(dir), t)
	if err != nil {
		off()
		return nil, err
	}
	return func() { off(); offBack() }, nil
}

func opposite(dir stream.Direction) stream.Direction {
	if dir == stream.Upstream {
		return stream.Downstream
	}
	return stream.Upstream
}

// Reset breaks every connection of a link at once; new ones may be opened.
func (s *Servers) Reset(l faults.Link) error {
	found, err := s.link(l)
	if err != nil {
		return err
	}
	found.Reset()
	if back := s.links[faults.Link{From: l.To, To: l.From}]; s.bundled() != nil && back != nil {
		back.Reset()
	}
	return nil
}

// WithholdRequest implements a part of [faults.World]. Only a world that tells of
// moments can withhold a request.
func (s *Servers) WithholdRequest(l faults.Link) (release func(), err error) {
	found, err := s.link(l)
	if err != nil {
		return nil, err
	}
	return found.WithholdRequest()
}

// Refuse implements a part of [faults.World].
func (s *Servers) Refuse(l faults.Link) (allow func(), err error) {
	found, err := s.link(l)
	if err != nil {
		return nil, err
	}
	return found.Refuse(), nil
}

// HalfOpen implements a part of [faults.World].
func (s *Servers) HalfOpen(l faults.Link, gone string) (tell func(), err error) {
	found, err := s.link(l)
	if err != nil {
		return nil, err
	}
	return found.HalfOpen(gone == l.To), nil
}

// Connections counts the connections that are open over a link.
func (s *Servers) Connections(l faults.Link) int {
	found, err := s.link(l)
	if err != nil {
		return 0
	}
	return found.Connections()
}

// Cut withholds everything between two parties, both ways and on every connection, until
// heal. In a cluster that includes the bus.
func (s *Servers) Cut(a, b string) (heal func(), err error) {
	var ids []faults.Link
	for _, id := range []faults.Link{{From: a, To: b}, {From: b, To: a}, {From: a, To: busOf(b)}, {From: b, To: busOf(a)}} {
		if s.links[id] != nil {
			ids = append(ids, id)
		}
	}
	if ids == nil {
		return nil, fmt.Errorf("nothing links %s and %s in this world", a, b)
	}
	return faults.Cut(s, ids)
}

// isolate cuts a node off from all that could replace it: the Sentinels, or the
// bus of the cluster. Its clients and replicas still reach it. heal ends the
// isolation.
func (s *Servers) isolate(node *Server) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cut[node.Name] != nil {
		return nil
	}
	var ids []faults.Link
	for _, other := range s.order {
		switch {
		case other == node:
		case s.bundled() != nil:
			ids = append(ids, faults.Link{From: other.Name, To: node.Name})
		case s.opts.Cluster:
			ids = append(ids, faults.Link{From: other.Name, To: busOf(node.Name)}, faults.Link{From: node.Name, To: busOf(other.Name)})
		case other.sentinel:
			ids = append(ids, faults.Link{From: other.Name, To: node.Name})
		}
	}
	heal, err := faults.Cut(s, ids)
	if err != nil {
		return fmt.Errorf("isolate %s: %w", node.Name, err)
	}
	s.cut[node.Name] = heal
	return nil
}

func (s *Servers) heal(node string) {
	s.mu.Lock()
	heal := s.cut[node]
	delete(s.cut, node)
	s.mu.Unlock()
	if heal != nil {
		heal()
	}
}
