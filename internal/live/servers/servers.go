// Package servers starts, stops and promotes the servers of the live world. They are
// redis-server (or valkey-server) processes, Sentinels, a Cluster, miniredis,
// [BundledServers] of a lock, and [External] servers, which already run.
//
// Each server is behind a door, a listener of package proxy. It announces the door's
// address instead of its own (replica-announce-port, sentinel announce-port,
// cluster-announce-port and -bus-port). So every address from Sentinel, INFO or gossip is
// a door. A door identifies the connecting server by its source address: each server has
// its own in 127.0.0.0/8 (bind-source-addr). The door rejects all other peers.
//
// A client process has one listener for each server, so that a fault can cut off
// this client alone. Sentinel and Cluster give it the addresses of doors, and its
// dialer maps them to its own listeners, see [adapter.Access].
//
// A small library moves the clock of a node. It is compiled from C on first use,
// and loaded into the server before libc (LD_PRELOAD). It changes the time of day,
// but not the monotonic clock.
package servers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/internal/live/processes"
	"github.com/holdfast-go/holdfast/internal/live/proxy"
	"github.com/holdfast-go/holdfast/internal/party"
)

// Options describe the servers of a world. Group g has a primary "node-g" and
// replicas "node-g-replica-1" and so on; clients are "client-1" and so on.
// With Sentinel, "sentinel-1" to "sentinel-3" watch.
type Options struct {
	// Backend selects the servers.
	Backend  Backend
	Clients  int  // client processes
	Groups   int  // independent primaries; with Cluster they share one key space
	Replicas int  // of each primary
	Cluster  bool // needs three groups or more
	Sentinel bool // needs replicas and no cluster; without it no failover is possible there
	Persist  bool // an append-only file, synced at every write
	Clocks   bool // every node has a clock that can be moved; needs a C compiler
	// ClientClocks gives the process of every client such a clock, see [Servers.ClientClock].
	ClientClocks bool
	User         bool // clients log in as a user of their own, see [Servers.Deny]
	// Detect is the time of silence after which Sentinels or the cluster's nodes take a
	// server for dead; 0 is two seconds.
	Detect time.Duration
	// Dir is where the directory of this run is made; "" is the system's
	// place for temporary files.
	Dir string
}

// sentinels is the number of them that watch; two of them must agree.
const sentinels, quorum = 3, 2

// limit bounds every wait for servers, besides the context of the caller.
const limit = 30 * time.Second

// Servers are the running servers of a world, with their proxies.
type Servers struct {
	opts    Options
	moments *proxy.Moments  // nil when no caller wants them
	ctx     context.Context // ends with Close
	end     context.CancelFunc
	dir     *processes.RunDir
	order   []*Server // nodes as faults names them, then Sentinels
	byName  map[string]*Server
	links   map[faults.Link]*proxy.Link
	parties *proxy.Parties
	clients map[string]map[string]*proxy.Listener // client -> server -> its listener
	wall    map[string]*clock                     // of clients, with Options.ClientClocks

	mu      sync.Mutex
	primary []string          // by group - 1, as last seen
	cut     map[string]func() // node -> what ends its isolation
	err     error
	closed  bool
}

// Start starts the servers and returns when they are ready: replicas in sync, Sentinels
// agreed, the cluster ok. Nothing runs any more when it fails. m, when not nil, gets the
// clients' requests.
func Start(ctx context.Context, o Options, m *proxy.Moments) (*Servers, error) {
	o.Detect, o.Dir = cmp.Or(o.Detect, 2*time.Second), cmp.Or(o.Dir, os.TempDir())
	if own := o.Backend.External; own != nil {
		o = own.options(o)
	}
	if f := o.Backend.Bundled; f != nil {
		o = f.options(o)
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	argv, err := o.Backend.command()
	if err != nil {
		return nil, err
	}
	if err := processes.Clean(o.Dir); err != nil {
		return nil, err
	}
	dir, err := processes.NewRunDir(o.Dir)
	if err != nil {
		return nil, err
	}
	s := &Servers{
		opts: o, moments: m, dir: dir, byName: map[string]*Server{}, links: map[faults.Link]*proxy.Link{}, parties: proxy.NewParties(),
		clients: map[string]map[string]*proxy.Listener{}, wall: map[string]*clock{}, cut: map[string]func(){},
	}
	s.ctx, s.end = context.WithCancel(context.WithoutCancel(ctx))
	if err := s.start(ctx, argv); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (o Options) check() error {
	switch {
	case o.Backend.External != nil:
		return nil
	case o.Groups < 1:
		return errors.New("servers: at least one group is needed")
	case o.Clients < 0 || o.Replicas < 0:
		return errors.New("servers: the numbers of clients and replicas must not be negative")
	case o.Sentinel && (o.Cluster || o.Replicas == 0):
		return errors.New("servers: Sentinels need replicas that can take over, and a cluster needs none")
	case o.Cluster && o.Groups < 3:
		return errors.New("servers: a cluster needs three groups or more, to have a majority when one is gone")
	case o.Backend.mini() && (o.Replicas > 0 || o.Cluster || o.Persist || o.Clocks):
		return errors.New("servers: miniredis has no replicas, no cluster, no data that outlives it and no clock of its own")
	}
	return nil
}

func (s *Servers) start(ctx context.Context, argv []string) error {
	if s.external() != nil {
		s.layExternal()
		return s.connect()
	}
	if s.opts.Clocks || s.opts.ClientClocks {
		if err := placeShim(s.dir.Path); err != nil {
			return err
		}
	}
	if err := s.lay(argv); err != nil {
		return err
	}
	if err := s.connect(); err != nil {
		return err
	}
	if s.bundled() != nil {
		return s.startBundled(ctx)
	}
	// A server that connects to others comes after them: it would wait before it tries
	// again.
	if err := s.launchAll(ctx, func(srv *Server) bool { return !srv.sentinel && (srv.rank == 0 || s.opts.Cluster) }); err != nil {
		return err
	}
	if s.opts.Cluster {
		return s.formCluster(ctx)
	}
	if err := s.launchAll(ctx, func(srv *Server) bool { return !srv.sentinel && srv.rank > 0 }); err != nil {
		return err
	}
	if err := s.awaitReplication(ctx); err != nil || !s.opts.Sentinel {
		return err
	}
	if err := s.launchAll(ctx, func(srv *Server) bool { return srv.sentinel }); err != nil {
		return err
	}
	for _, srv := range s.watchers() {
		srv.hurry(ctx, meeting)
	}
	if err := s.awaitSentinels(ctx); err != nil {
		return err
	}
	for _, srv := range s.watchers() {
		srv.hurry(ctx, watching)
	}
	return nil
}

// launchAll launches the servers of a kind at the same time.
func (s *Servers) launchAll(ctx context.Context, kind func(*Server) bool) error {
	var launching sync.WaitGroup
	errs := make([]error, len(s.order))
	for i, srv := range s.order {
		if kind(srv) {
			launching.Go(func() { errs[i] = s.launch(ctx, srv) })
		}
	}
	launching.Wait()
	return errors.Join(errs...)
}

// lay makes every server, none of them running.
func (s *Servers) lay(argv []string) error {
	watch := 0
	if s.opts.Sentinel {
		watch = sentinels
	}
	for _, srv := range s.line(slices.Repeat([]int{s.opts.Replicas}, s.opts.Groups), watch) {
		srv.argv = argv
		var err error
		if srv.dir, err = s.dir.Make(srv.Name); err == nil && s.opts.Clocks && !srv.sentinel {
			srv.clock, err = newClock(srv.dir, filepath.Join(s.dir.Path, shimName))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// line names the servers in their order: the first primaries, their replicas, of which
// replicas has the number by group, and the Sentinels.
func (s *Servers) line(replicas []int, sentinels int) []*Server {
	add := func(name string, group, rank int) {
		srv := &Server{world: s, Name: name, group: group, rank: rank, sentinel: group == 0, source: net.IPv4(127, 0, 1, byte(len(s.order)+1))}
		s.order = append(s.order, srv)
		s.byName[name] = srv
	}
	for g := range replicas {
		add(party.Node(g+1), g+1, 0)
		s.primary = append(s.primary, party.Node(g+1))
	}
	for g, n := range replicas {
		for r := range n {
			add(party.Replica(party.Node(g+1), r+1), g+1, r+1)
		}
	}
	for n := range sentinels {
		add(fmt.Sprintf("sentinel-%d", n+1), 0, n+1)
	}
	return s.order
}

// Nodes lists the servers that hold data, as faults name them.
func (s *Servers) Nodes() []string {
	var names []string
	for _, srv := range s.order {
		if !srv.sentinel {
			names = append(names, srv.Name)
		}
	}
	return names
}

// Names lists the servers: nodes as faults name them, then Sentinels.
func (s *Servers) Names() []string {
	return english.Words(s.order, func(srv *Server) string { return srv.Name })
}

func (s *Servers) server(name string) (*Server, error) {
	if srv := s.byName[name]; srv != nil {
		return srv, nil
	}
	return nil, fmt.Errorf("no server %q in this world", name)
}

func (s *Servers) node(name string) (*Server, error) {
	srv, err := s.server(name)
	if err == nil && srv.sentinel {
		err = fmt.Errorf("%s is a Sentinel, not a node", name)
	}
	return srv, err
}

// members are the nodes of a group, the first primary first.
func (s *Servers) members(group int) []*Server {
	return slices.DeleteFunc(slices.Clone(s.order), func(srv *Server) bool { return srv.group != group })
}

func (s *Servers) watchers() []*Server {
	return slices.DeleteFunc(slices.Clone(s.order), func(srv *Server) bool { return !srv.sentinel })
}

// Err is the first thing that went wrong in the world itself, such as a server
// that died by itself, which makes a run worthless.
func (s *Servers) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

func (s *Servers) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil && !s.closed {
		s.err = err
	}
}

// Close kills every server, breaks every connection and
// removes the directory of the run. Toxics have to be taken off before.
func (s *Servers) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	s.mu.Unlock()
	s.end()
	var errs []error
	for _, srv := range s.order {
		s.heal(srv.Name)
	}
	if s.external() != nil {
		errs = append(errs, s.leave())
	}
	for _, srv := range s.order {
		errs = append(errs, srv.close())
	}
	errs = append(errs, s.disconnect())
	return errors.Join(append(errs, s.dir.Remove())...)
}
