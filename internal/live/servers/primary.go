package servers

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// belief is the primary of a group in a server's view, and the election that made
// it.
type belief struct {
	who   *Server
	name  string
	epoch int
	err   error
}

// beliefs asks all running Sentinels, or the nodes of a cluster, for the primary; none in
// a world without replacement. If an external primary is replaced, its stream for the
// [Truth] breaks.
func (s *Servers) beliefs(ctx context.Context, group int) []belief {
	if f := s.bundled(); s.external() != nil || f != nil && f.Promoted {
		return nil
	}
	var all []belief
	for _, srv := range s.order {
		if (srv.sentinel || s.opts.Cluster || s.bundled() != nil) && srv.up() {
			all = append(all, belief{who: srv})
		}
	}
	var asking sync.WaitGroup
	for i := range all {
		asking.Go(func() {
			b := &all[i]
			switch {
			case s.bundled() != nil:
				b.name, b.epoch, b.err = b.who.follower(ctx)
			case b.who.sentinel:
				b.name, b.epoch, b.err = b.who.elected(ctx, group)
			default:
				b.name, b.epoch, b.err = b.who.owner(ctx, group)
			}
		})
	}
	asking.Wait()
	return all
}

// Primary names the present primary of a group, by the Sentinels or the nodes of the
// cluster; the latest election counts. If none can be asked, it is the last known one.
// Groups count from 1.
func (s *Servers) Primary(group int) string {
	ctx, cancel := context.WithTimeout(s.ctx, time.Second)
	defer cancel()
	latest := belief{epoch: -1}
	for _, b := range s.beliefs(ctx, group) {
		if b.err == nil && b.epoch > latest.epoch {
			latest = b
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if latest.who != nil {
		s.primary[group-1] = latest.name
	}
	return s.primary[group-1]
}

// awaitAgreement waits until all except apart name the same primary, it fits, and it has
// its role.
func (s *Servers) awaitAgreement(ctx context.Context, group int, apart string, fits func(name string) error) (string, error) {
	var name string
	var slow *Server // who keeps the others waiting
	err := until(ctx, "wait for a new primary of "+watched(group), func(ctx context.Context) error {
		name = ""
		for _, b := range s.beliefs(ctx, group) {
			if b.who.Name == apart {
				continue
			}
			slow = b.who
			switch {
			case errors.Is(b.err, errUnnamed):
				continue
			case b.err != nil:
				return b.err
			case name != "" && b.name != name:
				return fmt.Errorf("some say %s, some say %s", name, b.name)
			}
			if err := fits(b.name); err != nil {
				return err
			}
			name = b.name
		}
		if name == "" {
			return errors.New("no other node is there to promote one")
		}
		slow = s.byName[name]
		if s.bundled() != nil {
			return nil // it is among those who say so
		}
		info, err := slow.info(ctx, "replication")
		if err == nil && info["role"] != "master" {
			err = fmt.Errorf("it is a %s", info["role"])
		}
		return err
	})
	if err != nil && slow != nil {
		return "", slow.wrong(err)
	}
	if err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.primary[group-1] = name
	return name, nil
}

// canReplace returns the reason why no primary can be replaced here, or nil.
func (s *Servers) canReplace() error {
	switch {
	case s.external() != nil:
		return errExternal
	case s.opts.Replicas == 0:
		return errors.New("there is no replica that could take over")
	case !s.opts.Cluster && !s.opts.Sentinel && s.bundled() == nil:
		return errors.New("no Sentinel watches that could promote a replica: the servers were started without them")
	}
	return nil
}

// replacing checks that a replica can take over, and returns the primary that it
// replaces.
func (s *Servers) replacing(replica string) (to, old *Server, err error) {
	if to, err = s.node(replica); err != nil {
		return nil, nil, err
	}
	if err := s.canReplace(); err != nil {
		return nil, nil, err
	}
	old = s.byName[s.Primary(to.group)]
	switch {
	case to == old:
		return nil, nil, fmt.Errorf("%s is already the primary", replica)
	case !to.up():
		return nil, nil, fmt.Errorf("%s is down", replica)
	}
	return to, old, nil
}

// Prefer selects the replica that Sentinels promote when its primary dies, and
// returns when they know. A cluster's replicas and bundled servers decide among
// themselves; there it does nothing.
func (s *Servers) Prefer(replica string) error {
	to, old, err := s.replacing(replica)
	if err == nil && s.opts.Sentinel && s.opts.Replicas > 1 { // one has no rival
		err = s.prefer(s.ctx, to, old)
	}
	return failed(err, "prefer %s", replica)
}

// Promote makes a replica the primary of its group, and returns when the Sentinels
// or the nodes of the cluster agree. Writes that had not reached it are lost.
// Promote first cuts a running primary off from them. For them it is dead, and
// they replace it as usual, once they have noticed. It stays as it is, and serves
// clients that still reach it until [Servers.Follow].
func (s *Servers) Promote(replica string) error {
	to, old, err := s.replacing(replica)
	if err != nil {
		return err
	}
	if err := s.promote(s.ctx, to, old); err != nil {
		s.heal(old.Name)
		return fmt.Errorf("promote %s: %w", replica, err)
	}
	return nil
}

func (s *Servers) promote(ctx context.Context, to, old *Server) error {
	if s.bundled() != nil {
		return s.promoteBundled(to, old)
	}
	alive := old.up()
	if !s.opts.Cluster {
		if alive {
			if err := s.awaitSettled(ctx, to.group); err != nil {
				return err
			}
		}
		if err := s.prefer(ctx, to, old); err != nil { // while they can still learn of it
			return err
		}
	}
	if alive {
		if err := s.isolate(old); err != nil {
			return err
		}
	}
	if s.opts.Cluster {
		// The other primaries vote, whether or not they have noticed.
		if err := to.takeOver(ctx, "force"); err != nil {
			return err
		}
	}
	_, err := s.awaitAgreement(ctx, to.group, old.Name, mustBe(to.Name, old.Name))
	return err
}

// HandOver promotes a replica in a planned way: Sentinel, or the replica itself in
// a cluster, replaces a running primary, which then follows it.
func (s *Servers) HandOver(replica string) error {
	to, old, err := s.replacing(replica)
	if err != nil {
		return err
	}
	return failed(s.handOver(s.ctx, to, old), "hand over to %s", replica)
}

func (s *Servers) handOver(ctx context.Context, to, old *Server) error {
	if s.bundled() != nil {
		return s.handOverBundled(to, old)
	}
	if s.opts.Cluster {
		if err := to.takeOver(ctx); err != nil {
			return err
		}
	} else {
		if err := s.awaitSettled(ctx, to.group); err != nil {
			return err
		}
		if err := s.prefer(ctx, to, old); err != nil {
			return err
		}
		if err := s.orderFailover(ctx, to.group); err != nil {
			return err
		}
	}
	if _, err := s.awaitAgreement(ctx, to.group, old.Name, mustBe(to.Name, old.Name)); err != nil {
		return err
	}
	return old.awaitFollows(ctx, to)
}

// mustBe waits for one replica to replace old, and gives up if another one did.
func mustBe(want, old string) func(string) error {
	return func(name string) error {
		switch name {
		case want:
			return nil
		case old:
			return fmt.Errorf("%s is the primary", name)
		}
		return fmt.Errorf("%w: %s took over", errVain, name)
	}
}

// Follow ends a node's isolation. It waits until Sentinel or the cluster has made
// the node a replica of its group's primary. The node then drops its own data and
// takes the primary's.
func (s *Servers) Follow(name string) error {
	node, err := s.node(name)
	if err != nil {
		return err
	}
	if err := s.canReplace(); err != nil {
		return err
	}
	s.heal(name)
	return failed(s.awaitFollower(node), "let %s follow", name)
}

func (s *Servers) awaitFollower(node *Server) error {
	if s.bundled() != nil {
		return s.followBundled(node)
	}
	return node.until(s.ctx, "to follow", func(ctx context.Context) error {
		primary := s.byName[s.Primary(node.group)] // which may change once more
		if primary == node {
			return fmt.Errorf("%w: %s is the primary itself", errVain, node.Name)
		}
		return node.follows(ctx, primary)
	})
}
