package servers

import (
	"context"
	"errors"
	"fmt"
)

// BundledServers are servers that are no Redis: the lock under test brings
// them along. They serve as one, "node-1" and its replicas, of which one leads
// as a primary does. docs/adapter-protocol.md has what each is told and asked.
type BundledServers struct {
	// Command starts a server. The path of the program is absolute.
	Command []string
	// Members is how many there are.
	Members int
}

// bundled are the servers that are no Redis; nil where they are.
func (s *Servers) bundled() *BundledServers { return s.opts.Backend.Bundled }

// options are those of a world with such servers.
func (f *BundledServers) options(base Options) Options {
	return Options{
		Backend: base.Backend, Clients: base.Clients, Groups: 1, Replicas: f.Members - 1, Persist: true,
		Detect: base.Detect, Dir: base.Dir,
	}
}

// errNotRedis is why a foreign server cannot be told what only Redis has.
var errNotRedis = errors.New("the server is no Redis: the lock has brought it along")

func (srv *Server) redis() error {
	if srv.world.bundled() != nil {
		return fmt.Errorf("%s: %w", srv.Name, errNotRedis)
	}
	return nil
}

// startBundled starts all members, and lets the first lead.
func (s *Servers) startBundled(ctx context.Context) error {
	if err := s.launchAll(ctx, func(*Server) bool { return true }); err != nil {
		return err
	}
	return s.letLead(ctx, s.order[0], "")
}

// settings are what a foreign server is started with.
func (srv *Server) settings() *settings {
	members := map[string]string{}
	for _, m := range srv.world.order {
		members[m.Name] = m.door.Addr().String()
	}
	return &settings{Name: srv.Name, Data: dataName, Client: srv.addr(), Peer: srv.busAddr(), Members: members}
}

// ask orders a foreign server to do something.
func (srv *Server) ask(ctx context.Context, o order) (answer, error) {
	p := srv.running()
	if p == nil {
		return answer{}, fmt.Errorf("%s is down", srv.Name)
	}
	return p.control.ask(ctx, o)
}

// follower says who leads, as far as a foreign server knows.
func (srv *Server) follower(ctx context.Context) (leader string, term int, err error) {
	a, err := srv.ask(ctx, order{Do: doStatus})
	if err == nil && a.Lead == "" {
		err = errors.New("it knows of nobody who leads")
	}
	return a.Lead, a.Term, err
}

// letLead waits until the members but apart agree on who leads, and makes it
// to, if it is another.
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
	if _, err := leader.ask(ctx, order{Do: doLead, To: to.Name}); err != nil {
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

// promoteBundled makes a member lead in the place of another, which is down or
// is cut off from the others. They elect whom they can; where that is another
// one, it hands over.
func (s *Servers) promoteBundled(to, old *Server) error {
	if old.up() {
		if err := s.isolate(old); err != nil {
			return err
		}
	}
	return s.letLead(s.ctx, to, old.Name)
}

// followBundled waits until a member knows who leads the others.
func (s *Servers) followBundled(node *Server) error {
	return node.until(s.ctx, "to follow", func(ctx context.Context) error {
		leader, _, err := node.follower(ctx)
		if err == nil && leader != s.Primary(node.group) {
			err = fmt.Errorf("it follows %s", leader)
		}
		return err
	})
}

// keysBundled lists the keys of locks.
func (srv *Server) keysBundled(ctx context.Context) ([]Key, error) {
	a, err := srv.ask(ctx, order{Do: doKeys})
	var keys []Key
	for _, name := range a.Keys {
		keys = append(keys, Key{Node: srv.Name, Name: name})
	}
	return keys, err
}

// deleteBundled deletes the key of whoever holds a lock.
func (srv *Server) deleteBundled(ctx context.Context, locks []string) error {
	for _, name := range locks {
		if _, err := srv.ask(ctx, order{Do: doDelete, Lock: name}); err != nil {
			return srv.wrong(fmt.Errorf("delete the hold of %q: %w", name, err))
		}
	}
	return nil
}
