package servers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/live/processes"
)

// Admin is a client of the harness for a server, directly to its port: no toxic
// and no cut affects it. Close closes it.
func (s *Servers) Admin(name string) (*redis.Client, error) {
	srv, err := s.server(name)
	if err == nil {
		err = srv.redis()
	}
	if err != nil {
		return nil, err
	}
	return srv.Client(), nil
}

// Up reports whether a server's process runs.
func (s *Servers) Up(name string) bool {
	srv, err := s.server(name)
	return err == nil && srv.up()
}

// Condemn makes a server dead for its clients until [Servers.StopNode] has killed it:
// nothing reaches it or leaves it any more.
func (s *Servers) Condemn(name string) {
	if srv, err := s.server(name); err == nil && srv.up() && srv.mayControl() == nil {
		srv.killed.Store(true)
	}
}

// StopNode kills a server, a node or a Sentinel: its connections break, and new
// ones are rejected.
func (s *Servers) StopNode(name string) error { return s.stop(name, syscall.SIGKILL) }

// ShutDown stops a server cleanly, with SIGTERM.
func (s *Servers) ShutDown(name string) error { return s.stop(name, syscall.SIGTERM) }

func (s *Servers) stop(name string, sig syscall.Signal) error {
	srv, err := s.server(name)
	if err == nil {
		err = srv.mayControl()
	}
	if err != nil {
		return err
	}
	if sig == syscall.SIGKILL {
		srv.killed.Store(true)
		defer srv.killed.Store(false)
	}
	srv.lastWords()
	p, err := srv.signal(sig, true)
	if err != nil {
		return err
	}
	return srv.wrong(p.await(name))
}

// lastWords lets a server report its executed commands before it is stopped. The
// server answers clients first and reports later, so the last report would be
// lost. A suspended server reports nothing.
func (srv *Server) lastWords() {
	o := srv.observing()
	if o == nil {
		return
	}
	ctx, cancel := context.WithTimeout(srv.world.ctx, time.Second/4)
	defer cancel()
	_, _, _ = o.Sync(ctx, true) // it is stopped whether it tells or not
}

// StartNode starts a server again on its port, with or without its data, and
// returns when it has loaded them. It keeps its role in Sentinel and the cluster.
func (s *Servers) StartNode(name string, keepData bool) error {
	srv, err := s.server(name)
	if err == nil {
		err = srv.mayControl()
	}
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
		if err := srv.redis(); err != nil { // a majority would be asked to forget what it agreed to
			return err
		}
		if err := srv.forget(); err != nil {
			return err
		}
	}
	if err := srv.start(s.ctx); err != nil {
		return err
	}
	if srv.sentinel {
		srv.hurry(s.ctx, watching)
	}
	if o := srv.observing(); o != nil {
		return srv.until(s.ctx, "to be observed", func(context.Context) error {
			if !o.Watching() {
				return errors.New("it has not reported its data")
			}
			return nil
		})
	}
	return nil
}

// forget removes a server's data, but keeps its identity in the cluster.
func (srv *Server) forget() error {
	data := filepath.Join(srv.dir, dataName)
	entries, err := os.ReadDir(data)
	if err != nil {
		return fmt.Errorf("remove the data of %s: %w", srv.Name, err)
	}
	for _, e := range entries {
		if e.Name() == "nodes.conf" {
			continue
		}
		if err := os.RemoveAll(filepath.Join(data, e.Name())); err != nil {
			return fmt.Errorf("remove the data of %s: %w", srv.Name, err)
		}
	}
	return nil
}

// Suspend freezes a server's process. Its connections stay open.
func (s *Servers) Suspend(name string) error { return s.send(name, processes.StopSignal) }

// Continue resumes a suspended server.
func (s *Servers) Continue(name string) error { return s.send(name, processes.ContinueSignal) }

func (s *Servers) send(name string, sig syscall.Signal) error {
	srv, err := s.server(name)
	if err != nil {
		return err
	}
	_, err = srv.signal(sig, false)
	return err
}

// ownRedis finds a node that is a Redis of ours, whose settings the harness may change.
func (s *Servers) ownRedis(name string) (*Server, error) {
	srv, err := s.node(name)
	if err == nil {
		err = errors.Join(srv.mayControl(), srv.redis())
	}
	return srv, err
}

// FlushScripts empties a server's script cache.
func (s *Servers) FlushScripts(name string) error {
	srv, err := s.ownRedis(name) // others' scripts would go as well
	if err != nil {
		return err
	}
	return srv.wrong(failed(srv.Client().ScriptFlush(s.ctx).Err(), "flush its scripts"))
}

// asClient logs clients in as a user of their own. It has no password, so any will do.
var asClient = login{"client", "any"}

// Deny takes the right to commands from the user of all clients until allow.
func (s *Servers) Deny(name string, commands []string) (allow func() error, err error) {
	srv, err := s.ownRedis(name)
	if err != nil {
		return nil, err
	}
	ask := []any{"COMMAND", "INFO"}
	for _, c := range commands {
		whole, _, _ := strings.Cut(c, "|")
		ask = append(ask, whole)
	}
	known, err := srv.Client().Do(s.ctx, ask...).Slice() // an older server refuses the name of a newer command
	if err != nil {
		return nil, srv.wrong(fmt.Errorf("look its commands up: %w", err))
	}
	rights := func(sign string) []any {
		words := []any{"ACL", "SETUSER", asClient.user}
		for i, c := range commands {
			if known[i] != nil {
				words = append(words, sign+strings.ToLower(c))
			}
		}
		return words
	}
	return s.setting(name, rights("-"), rights("+"))
}

// FillMemory leaves a server no memory until free.
func (s *Servers) FillMemory(name string) (free func() error, err error) {
	limit := func(bytes int) []any { return []any{"CONFIG", "SET", "maxmemory", bytes} }
	return s.setting(name, limit(1), limit(0))
}

// setting changes a setting of a server until undo.
func (s *Servers) setting(name string, change, back []any) (undo func() error, err error) {
	srv, err := s.ownRedis(name)
	if err != nil {
		return nil, err
	}
	set := func(command []any) error {
		return srv.wrong(failed(srv.Client().Do(s.ctx, command...).Err(), "%s %s", command[0], command[1]))
	}
	return func() error { return set(back) }, set(change)
}

// DeleteKeys deletes keys on a server, and returns an error if it had none of
// them.
func (s *Servers) DeleteKeys(name string, keys ...string) error {
	srv, err := s.node(name)
	if err != nil {
		return err
	}
	if s.bundled() != nil {
		return srv.deleteBundled(s.ctx, keys)
	}
	deleted := int64(0)
	for _, key := range keys { // one by one: in a cluster each has its slot
		n, err := srv.Client().Del(s.ctx, key).Result()
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
