package servers

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/holdfast-go/holdfast/internal/adapter/bundled"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// BundledServers are servers of another system, which the lock under test brings.
// They serve together, "node-1" and its replicas, and one of them leads like a
// primary. docs/adapter-protocol.md describes their orders.
type BundledServers struct {
	// Command starts a server. The path of the program is absolute.
	Command []string
	// Members is the number of members.
	Members int
	// Promoted says that they hold no elections: the first leads, until another is
	// promoted by name.
	Promoted bool
	// TwoPeers says that a member listens to the others at two addresses.
	TwoPeers bool
}

// Bundle returns the servers that a lock describes, with the command that starts
// its client processes.
func Bundle(argv []string, own *locks.BundledServers) *BundledServers {
	return &BundledServers{Command: slices.Concat(argv, own.Args), Members: own.Members, Promoted: own.Promoted, TwoPeers: own.TwoPeers}
}

func (s *Servers) bundled() *BundledServers { return s.opts.Backend.Bundled }

// options are those of a world with such servers.
func (f *BundledServers) options(base Options) Options {
	return Options{
		Backend: base.Backend, Clients: base.Clients, Groups: 1, Replicas: f.Members - 1, Persist: true,
		Detect: base.Detect, Dir: base.Dir,
	}
}

var errNotRedis = errors.New("the server is no Redis: the lock has brought it along")

func (srv *Server) redis() error {
	if srv.world.bundled() != nil {
		return fmt.Errorf("%s: %w", srv.Name, errNotRedis)
	}
	return nil
}

// startBundled starts all members, and lets the first lead. Promoted members start
// after the one that they follow.
func (s *Servers) startBundled(ctx context.Context) error {
	if s.bundled().Promoted {
		if err := s.launch(ctx, s.order[0]); err != nil {
			return err
		}
		return s.launchAll(ctx, func(srv *Server) bool { return srv != s.order[0] })
	}
	if err := s.launchAll(ctx, func(*Server) bool { return true }); err != nil {
		return err
	}
	return s.letLead(ctx, s.order[0], "")
}

func (srv *Server) settings() *bundled.Settings {
	own := &bundled.Settings{Name: srv.Name, Data: dataName, Client: srv.addr(), Peer: srv.busAddr(), Members: map[string]string{}}
	if srv.world.bundled().TwoPeers {
		own.Peer2, own.Members2 = srv.peer2Addr(), map[string]string{srv.Name: srv.peer2Addr()}
		own.Members[srv.Name] = srv.busAddr()
		for _, m := range srv.world.order {
			if doors := m.pairs[srv.Name]; doors != nil {
				own.Members[m.Name], own.Members2[m.Name] = doors[0].Addr().String(), doors[1].Addr().String()
			}
		}
	} else {
		for _, m := range srv.world.order {
			own.Members[m.Name] = m.door.Addr().String()
		}
	}
	if srv.world.bundled().Promoted {
		own.Leader = srv.world.Primary(srv.group)
	}
	return own
}

func (srv *Server) ask(ctx context.Context, o bundled.Order) (bundled.Answer, error) {
	p := srv.running()
	if p == nil {
		return bundled.Answer{}, fmt.Errorf("%s is down", srv.Name)
	}
	return p.control.ask(ctx, o)
}

// follower returns the leader that a bundled server follows.
func (srv *Server) follower(ctx context.Context) (leader string, term int, err error) {
	a, err := srv.ask(ctx, bundled.Order{Do: bundled.Status})
	switch {
	case err == nil && a.Follows:
		err = errUnnamed
	case err == nil && a.Leader == "":
		err = errors.New("it has found no leader")
	}
	return a.Leader, a.Term, err
}

// errUnnamed means that a member follows a leader that it cannot name.
var errUnnamed = errors.New("it follows a leader that it does not name")

// letLead waits until all members except apart agree on a leader, and then makes
// to the leader if it is another.
func (s *Servers) letLead(ctx context.Context, to *Server, apart string) error {
	now, err := s.awaitAgreement(ctx, to.group, apart, func(name string) error {
		if name == apart {
			return fmt.Errorf("%s still leads", name)
		}
		return nil
	})
	if err != nil || now == to.Name {
		return err
	}
	leader := s.byName[now]
	if _, err := leader.ask(ctx, bundled.Order{Do: bundled.Lead, To: to.Name}); err != nil {
		return leader.wrong(fmt.Errorf("let %s lead: %w", to.Name, err))
	}
	_, err = s.awaitAgreement(ctx, to.group, apart, func(name string) error {
		if name != to.Name {
			return fmt.Errorf("%s leads", name)
		}
		return nil
	})
	return err
}

// promoteBundled makes a member lead instead of another, which is down or cut off
// from the others. They elect a leader; if it is not the wanted one, it hands
// over.
func (s *Servers) promoteBundled(to, old *Server) error {
	if old.up() {
		if err := s.isolate(old); err != nil {
			return err
		}
	}
	if s.bundled().Promoted {
		return s.promoteByName(to, old)
	}
	return s.letLead(s.ctx, to, old.Name)
}

// promoteByName makes a member lead, and lets all others except apart follow it.
func (s *Servers) promoteByName(to, apart *Server) error {
	ctx, cancel := context.WithTimeout(s.ctx, limit)
	defer cancel()
	if _, err := to.ask(ctx, bundled.Order{Do: bundled.Promote}); err != nil {
		return to.wrong(err)
	}
	s.mu.Lock()
	s.primary[to.group-1] = to.Name
	s.mu.Unlock()
	for _, srv := range s.order {
		if srv == to || srv == apart || !srv.up() {
			continue
		}
		if err := srv.follow(ctx, to); err != nil {
			return err
		}
	}
	return nil
}

// follow makes a member follow another, with that one's data.
func (srv *Server) follow(ctx context.Context, leader *Server) error {
	_, err := srv.ask(ctx, bundled.Order{Do: bundled.Follow, To: leader.Name})
	return srv.wrong(err)
}

// handOverBundled makes a member lead after a planned handover by the running
// leader.
func (s *Servers) handOverBundled(to, old *Server) error {
	if !s.bundled().Promoted {
		return s.letLead(s.ctx, to, "")
	}
	ctx, cancel := context.WithTimeout(s.ctx, limit)
	defer cancel()
	if _, err := old.ask(ctx, bundled.Order{Do: bundled.Lead, To: to.Name}); err != nil {
		return old.wrong(err)
	}
	if err := s.promoteByName(to, old); err != nil {
		return err
	}
	return old.follow(ctx, to)
}

// followBundled waits until a member follows the leader of the others.
func (s *Servers) followBundled(node *Server) error {
	if s.bundled().Promoted {
		ctx, cancel := context.WithTimeout(s.ctx, limit)
		defer cancel()
		return node.follow(ctx, s.byName[s.Primary(node.group)])
	}
	return node.until(s.ctx, "to follow", func(ctx context.Context) error {
		leader, _, err := node.follower(ctx)
		if errors.Is(err, errUnnamed) {
			return nil
		}
		if err == nil && leader != s.Primary(node.group) {
			err = fmt.Errorf("it follows %s", leader)
		}
		return err
	})
}

func (srv *Server) keysBundled(ctx context.Context) ([]Key, error) {
	a, err := srv.ask(ctx, bundled.Order{Do: bundled.Keys})
	var keys []Key
	for _, name := range a.Keys {
		keys = append(keys, Key{Node: srv.Name, Name: name})
	}
	return keys, err
}

// deleteBundled deletes the keys of the holders of locks, and returns an error if it
// could delete none.
func (srv *Server) deleteBundled(ctx context.Context, locks []string) error {
	var failed []error
	for _, name := range locks {
		if _, err := srv.ask(ctx, bundled.Order{Do: bundled.Delete, Lock: name}); err != nil {
			failed = append(failed, srv.wrong(fmt.Errorf("delete the hold of %q: %w", name, err)))
		}
	}
	if len(failed) < len(locks) {
		return nil // the others have no holder
	}
	return errors.Join(failed...)
}
