package live

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

// Admin is a client of the harness' own for a server, straight to its port:
// no toxic and no cut touches it. Close closes it.
func (s *Servers) Admin(name string) (*redis.Client, error) {
	srv, err := s.server(name)
	if err != nil {
		return nil, err
	}
	return srv.client(), nil
}

// Up says whether a server's process runs.
func (s *Servers) Up(name string) bool {
	srv, err := s.server(name)
	return err == nil && srv.up()
}

// StopNode kills a server, a node or a Sentinel: its connections break and
// whoever connects is thrown out.
func (s *Servers) StopNode(name string) error { return s.stop(name, syscall.SIGKILL) }

// ShutDown stops a server in order, as SIGTERM does.
func (s *Servers) ShutDown(name string) error { return s.stop(name, syscall.SIGTERM) }

func (s *Servers) stop(name string, sig syscall.Signal) error {
	srv, err := s.server(name)
	if err != nil {
		return err
	}
	p, err := srv.signal(sig, true)
	if err != nil {
		return err
	}
	return srv.wrong(p.await(name))
}

// StartNode starts a server again on its port, with the data it had or empty,
// and returns when it has loaded them. What Sentinel and the cluster made of it
// before, it still is.
func (s *Servers) StartNode(name string, keepData bool) error {
	srv, err := s.server(name)
	if err != nil {
		return err
	}
	if keepData && !s.opts.Persist && !srv.sentinel {
		return fmt.Errorf("%s keeps no data: the servers were started without persistence", name)
	}
	if srv.up() {
		return fmt.Errorf("%s runs already", name)
	}
	if !keepData && !srv.sentinel {
		if err := srv.forget(); err != nil {
			return err
		}
	}
	if err := srv.start(context.Background()); err != nil {
		return err
	}
	if srv.sentinel {
		srv.hurry(context.Background())
	}
	return nil
}

// forget removes a server's data, but not who it is in the cluster.
func (srv *server) forget() error {
	data := filepath.Join(srv.dir, dataName)
	entries, err := os.ReadDir(data)
	if err != nil {
		return fmt.Errorf("remove the data of %s: %w", srv.name, err)
	}
	for _, e := range entries {
		if e.Name() == "nodes.conf" {
			continue
		}
		if err := os.RemoveAll(filepath.Join(data, e.Name())); err != nil {
			return fmt.Errorf("remove the data of %s: %w", srv.name, err)
		}
	}
	return nil
}

// Suspend freezes a server's process, Continue lets it go on. Its connections
// stay open meanwhile.
func (s *Servers) Suspend(name string) error { return s.send(name, syscall.SIGSTOP) }

// Continue lets a server that was suspended go on.
func (s *Servers) Continue(name string) error { return s.send(name, syscall.SIGCONT) }

func (s *Servers) send(name string, sig syscall.Signal) error {
	srv, err := s.server(name)
	if err != nil {
		return err
	}
	_, err = srv.signal(sig, false)
	return err
}

// FlushScripts forgets a server's script cache.
func (s *Servers) FlushScripts(name string) error {
	srv, err := s.node(name)
	if err != nil {
		return err
	}
	if err := srv.client().ScriptFlush(context.Background()).Err(); err != nil {
		return srv.wrong(fmt.Errorf("flush its scripts: %w", err))
	}
	return nil
}

// DeleteKeys deletes keys on a server, and says so when it had none of them.
func (s *Servers) DeleteKeys(name string, keys ...string) error {
	srv, err := s.node(name)
	if err != nil {
		return err
	}
	deleted := int64(0)
	for _, key := range keys { // one by one: in a cluster each has its slot
		n, err := srv.client().Del(context.Background(), key).Result()
		if err != nil {
			return srv.wrong(fmt.Errorf("delete %q: %w", key, err))
		}
		deleted += n
	}
	if deleted == 0 {
		return fmt.Errorf("%s holds no lock key to delete", name)
	}
	return nil
}

// Primary names the node that serves a group now, as the Sentinels or the
// nodes of the cluster say; those with the latest election are believed. Where
// nobody can be asked it is the last one known. Groups are counted from 1.
func (s *Servers) Primary(group int) string {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	best := -1
	found := ""
	for _, srv := range s.voters() {
		if name, epoch, err := srv.believes(ctx, group); err == nil && epoch > best {
			found, best = name, epoch
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if found != "" {
		s.primary[group-1] = found
	}
	return s.primary[group-1]
}

// voters are the servers that know who is primary, as far as they run; none
// where nobody is ever replaced.
func (s *Servers) voters() []*server {
	var all []*server
	for _, srv := range s.order {
		if (srv.sentinel || s.opts.Cluster) && srv.up() {
			all = append(all, srv)
		}
	}
	return all
}

func (srv *server) believes(ctx context.Context, group int) (name string, epoch int, err error) {
	if srv.sentinel {
		return srv.elected(ctx, group)
	}
	return srv.owner(ctx, group)
}

// AwaitPrimary waits until a group has another primary than old, and all who
// can be asked agree: after a crash, Sentinels or the cluster promote a
// replica by themselves.
func (s *Servers) AwaitPrimary(ctx context.Context, group int, old string) (string, error) {
	now := ""
	err := s.awaitAgreement(ctx, group, old, func(name string) error {
		if name == old {
			return fmt.Errorf("%s is still the primary", old)
		}
		if now != "" && name != now {
			was := now
			now = name
			return fmt.Errorf("one says %s, one says %s", was, name)
		}
		now = name
		return nil
	})
	if err != nil {
		return "", err
	}
	return now, nil
}

// awaitAgreement waits until every voter that is not cut off names a primary
// that fits, and that node knows it.
func (s *Servers) awaitAgreement(ctx context.Context, group int, apart string, fits func(name string) error) error {
	for _, srv := range s.voters() {
		if srv.name == apart {
			continue
		}
		chosen := ""
		err := srv.until(ctx, "to agree on a new primary of "+watched(group), func(ctx context.Context) error {
			name, _, err := srv.believes(ctx, group)
			if err != nil {
				return err
			}
			chosen = name
			return fits(name)
		})
		if err != nil {
			return err
		}
		node := s.byName[chosen]
		err = node.until(ctx, "to be primary", func(ctx context.Context) error {
			info, err := node.info(ctx, "replication")
			if err == nil && info["role"] != "master" {
				err = fmt.Errorf("it is a %s", info["role"])
			}
			return err
		})
		if err != nil {
			return err
		}
		s.mu.Lock()
		s.primary[group-1] = chosen
		s.mu.Unlock()
	}
	return nil
}

// replacing checks that a replica can take over, and finds who it replaces.
func (s *Servers) replacing(replica string) (to, old *server, err error) {
	if to, err = s.node(replica); err != nil {
		return nil, nil, err
	}
	if s.opts.Replicas == 0 {
		return nil, nil, errors.New("there is no replica that could take over")
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

// Promote makes a replica the primary of its group, and returns when the
// Sentinels or the nodes of the cluster agree. What had not reached it is
// lost. A dead primary is replaced as they always do it, once they have
// noticed. One that runs is cut off from them first, and left as it is: it
// goes on serving whoever still reaches it until [Servers.Follow].
func (s *Servers) Promote(replica string) error {
	ctx := context.Background()
	to, old, err := s.replacing(replica)
	if err != nil {
		return err
	}
	alive := old.up()
	if alive {
		if err := s.isolate(old); err != nil {
			return err
		}
	}
	if s.opts.Cluster {
		// The other primaries vote, whether or not they have noticed.
		err = to.takeOver(ctx, "force")
	} else if err = s.prefer(ctx, to, old); err == nil && alive {
		err = s.orderFailover(ctx, to.group)
	}
	if err == nil {
		err = s.awaitAgreement(ctx, to.group, old.name, mustBe(replica))
	}
	if err != nil {
		s.heal(old.name)
		return fmt.Errorf("promote %s: %w", replica, err)
	}
	return nil
}

// HandOver lets a replica take over in order: Sentinel, or the replica itself
// in a cluster, replaces a primary that runs, which then follows it.
func (s *Servers) HandOver(replica string) error {
	ctx := context.Background()
	to, old, err := s.replacing(replica)
	if err != nil {
		return err
	}
	if s.opts.Cluster {
		err = to.takeOver(ctx)
	} else if err = s.prefer(ctx, to, old); err == nil {
		err = s.orderFailover(ctx, to.group)
	}
	if err == nil {
		err = s.awaitAgreement(ctx, to.group, old.name, mustBe(replica))
	}
	if err == nil {
		err = old.awaitFollows(ctx, to)
	}
	if err != nil {
		return fmt.Errorf("hand over to %s: %w", replica, err)
	}
	return nil
}

func mustBe(want string) func(string) error {
	return func(name string) error {
		if name != want {
			return fmt.Errorf("%s is the primary", name)
		}
		return nil
	}
}

// Follow ends a node's isolation and waits until it is a replica of the
// current primary of its group, to which Sentinel or the cluster tells it: it
// drops its own data and takes the primary's.
func (s *Servers) Follow(name string) error {
	node, err := s.node(name)
	if err != nil {
		return err
	}
	if !slices.Contains(s.members(node.group), node) || s.opts.Replicas == 0 {
		return fmt.Errorf("%s has nobody to follow", name)
	}
	s.heal(name)
	primary := s.byName[s.Primary(node.group)]
	if primary == node {
		return fmt.Errorf("%s is the primary itself", name)
	}
	if err := node.awaitFollows(context.Background(), primary); err != nil {
		return fmt.Errorf("let %s follow %s: %w", name, primary.name, err)
	}
	return nil
}
