// Package live is the world in real time: real redis-server processes (or
// valkey-server), real Sentinels, a real Cluster, on loopback, with every
// connection running through an embedded toxiproxy.
//
// What is real: the servers, their replication, their Sentinels' votes and
// their cluster's gossip, the TCP connections, and go-redis' own failover and
// cluster clients. What is not: the machine is one, so the network is as fast
// as loopback is until a toxic slows it; servers are told to notice a death
// after [Options].Detect instead of half a minute, and Sentinels to look, to
// ask and to publish more often than they do by default; nothing is written to
// disk unless [Options].Persist asks for it.
//
// Where no such server is installed, [Backend] offers miniredis in processes of
// its own, for scenarios that need no replicas, no data that outlive a server
// and no other clock.
//
// # How everything goes through a proxy
//
// A server has a door, a listener of the proxy, and announces the door's
// address in the place of its own (replica-announce-port, sentinel
// announce-port, cluster-announce-port and -bus-port). Whatever another server
// learns from Sentinel, from INFO or from gossip is therefore a door. A door
// tells the servers that knock apart by their source address: each has one of
// its own in 127.0.0.0/8 (bind-source-addr), and nobody else is let in.
//
// A client process has listeners of its own, one for each server, so that it
// alone can be cut off. The addresses that it learns from Sentinel and Cluster
// are doors; its dialer maps them to its own listeners, see [Access].
//
// A path that a toxic holds still lets TCP connect, as the proxy has answered;
// nothing that is sent over the connection arrives before the toxic is off.
//
// # Moments and clocks
//
// A [World] stops every request of a client when the toxics have let it
// through and before the server gets it, and every reply before the toxics get
// it, until whoever wants to know has been told. A fault that strikes then
// strikes between execution and reply, and not about there.
//
// The clock of a node is moved by a small library, compiled from C on first use
// and loaded into the server before libc (LD_PRELOAD). It answers for the time
// of day; the clock that only runs forward stays true.
//
// # Nothing is left behind
//
// The kernel kills the servers when the harness dies, however it dies. What
// remains then is the directory the servers ran in; [Clean] removes it, which
// [Start] does for what earlier runs have left.
//
// Servers run on Linux only.
package live

import (
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
)

// Options describe the servers of a world. Group g has a primary "node-g" and
// replicas "node-g-replica-1" and so on; clients are "client-1" and so on.
// With Sentinel, "sentinel-1" to "sentinel-3" watch.
type Options struct {
	// Backend is what the servers are.
	Backend  Backend
	Clients  int  // client processes
	Groups   int  // independent primaries; with Cluster they share one key space
	Replicas int  // of each primary
	Cluster  bool // needs three groups or more
	Sentinel bool // needs replicas and no cluster; without it no failover is possible there
	Persist  bool // an append-only file, synced at every write
	Clocks   bool // every node has a clock that can be moved; needs a C compiler
	// Detect is how long a server must be silent until Sentinels or the
	// cluster's nodes take it for dead; 0 is two seconds.
	Detect time.Duration
	// Dir is where the directory of this run is made; "" is the system's
	// place for temporary files.
	Dir string
}

// sentinels is how many watch; two of them must agree.
const sentinels, quorum = 3, 2

// limit bounds every wait for servers, besides the context of the caller.
const limit = 30 * time.Second

// Servers are the running servers of a world, with their proxies.
type Servers struct {
	opts    Options
	moments *moments        // nil when nobody wants to know
	ctx     context.Context // ends with Close
	end     context.CancelFunc
	dir     *runDir
	order   []*server // nodes as faults names them, then Sentinels
	byName  map[string]*server
	links   map[faults.Link]*link
	parties *parties
	clients map[string]map[string]*gate // client -> server -> its listener

	mu      sync.Mutex
	primary []string          // by group - 1, as last seen
	cut     map[string]func() // node -> what ends its isolation
	err     error
	closed  bool
	started []*Process // of clients
}

// Start starts the servers and returns when they are ready: replicas in sync,
// Sentinels agreed, the cluster ok. Nothing runs any more when it fails.
func Start(ctx context.Context, o Options) (*Servers, error) { return startServers(ctx, o, nil) }

func startServers(ctx context.Context, o Options, m *moments) (*Servers, error) {
	if o.Detect == 0 {
		o.Detect = 2 * time.Second
	}
	if own := o.Backend.Own; own != nil {
		o = own.options(o)
	}
	if f := o.Backend.Foreign; f != nil {
		o = f.options(o)
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	argv, err := o.Backend.command()
	if err != nil {
		return nil, err
	}
	if o.Dir == "" {
		o.Dir = os.TempDir()
	}
	if err := Clean(o.Dir); err != nil {
		return nil, err
	}
	dir, err := newRunDir(o.Dir)
	if err != nil {
		return nil, err
	}
	s := &Servers{
		opts: o, moments: m, dir: dir, byName: map[string]*server{}, links: map[faults.Link]*link{}, parties: newParties(),
		clients: map[string]map[string]*gate{}, cut: map[string]func(){},
	}
	s.ctx, s.end = context.WithCancel(context.WithoutCancel(ctx))
	if err := s.start(ctx, argv); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (o Options) check() error {
	switch {
	case o.Backend.Own != nil:
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
	if s.own() != nil {
		s.layOwn()
		return s.connect()
	}
	if s.opts.Clocks {
		if err := placeShim(s.dir.path); err != nil {
			return err
		}
	}
	if err := s.lay(argv); err != nil {
		return err
	}
	if err := s.connect(); err != nil {
		return err
	}
	if s.foreign() != nil {
		return s.startForeign(ctx)
	}
	// Who connects to others comes after them: it would wait before it tries again.
	if err := s.launchAll(ctx, func(srv *server) bool { return !srv.sentinel && (srv.rank == 0 || s.opts.Cluster) }); err != nil {
		return err
	}
	if s.opts.Cluster {
		return s.formCluster(ctx)
	}
	if err := s.launchAll(ctx, func(srv *server) bool { return !srv.sentinel && srv.rank > 0 }); err != nil {
		return err
	}
	if err := s.awaitReplication(ctx); err != nil || !s.opts.Sentinel {
		return err
	}
	if err := s.launchAll(ctx, func(srv *server) bool { return srv.sentinel }); err != nil {
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
func (s *Servers) launchAll(ctx context.Context, kind func(*server) bool) error {
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
	add := func(name string, group, rank int, sentinel bool) error {
		srv := &server{
			world: s, name: name, group: group, rank: rank, sentinel: sentinel, argv: argv,
			source: net.IPv4(127, 0, 1, byte(len(s.order)+1)),
		}
		s.order = append(s.order, srv)
		s.byName[name] = srv
		var err error
		if srv.dir, err = s.dir.server(name); err == nil && s.opts.Clocks && !sentinel {
			srv.clock, err = newClock(srv.dir, filepath.Join(s.dir.path, shimName))
		}
		return err
	}
	for g := 1; g <= s.opts.Groups; g++ {
		if err := add(fmt.Sprintf("node-%d", g), g, 0, false); err != nil {
			return err
		}
		s.primary = append(s.primary, fmt.Sprintf("node-%d", g))
	}
	for g := 1; g <= s.opts.Groups; g++ {
		for r := 1; r <= s.opts.Replicas; r++ {
			if err := add(fmt.Sprintf("node-%d-replica-%d", g, r), g, r, false); err != nil {
				return err
			}
		}
	}
	if !s.opts.Sentinel {
		return nil
	}
	for n := 1; n <= sentinels; n++ {
		if err := add(fmt.Sprintf("sentinel-%d", n), 0, n, true); err != nil {
			return err
		}
	}
	return nil
}

// Nodes lists the servers that hold data, as faults name them.
func (s *Servers) Nodes() []string {
	var names []string
	for _, srv := range s.order {
		if !srv.sentinel {
			names = append(names, srv.name)
		}
	}
	return names
}

// Names lists the servers: nodes as faults name them, then Sentinels.
func (s *Servers) Names() []string {
	names := make([]string, len(s.order))
	for i, srv := range s.order {
		names[i] = srv.name
	}
	return names
}

func (s *Servers) server(name string) (*server, error) {
	if srv := s.byName[name]; srv != nil {
		return srv, nil
	}
	return nil, fmt.Errorf("no server %q in this world", name)
}

func (s *Servers) node(name string) (*server, error) {
	srv, err := s.server(name)
	if err == nil && srv.sentinel {
		err = fmt.Errorf("%s is a Sentinel, not a node", name)
	}
	return srv, err
}

// members are the nodes of a group, the first primary first.
func (s *Servers) members(group int) []*server {
	return slices.DeleteFunc(slices.Clone(s.order), func(srv *server) bool { return srv.group != group })
}

func (s *Servers) watchers() []*server {
	return slices.DeleteFunc(slices.Clone(s.order), func(srv *server) bool { return !srv.sentinel })
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

// Close kills every client process and server, breaks every connection and
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
	for _, p := range s.started {
		errs = append(errs, p.end())
		p.Over()
	}
	for _, srv := range s.order {
		s.heal(srv.name)
	}
	if s.own() != nil {
		errs = append(errs, s.leave())
	}
	for _, srv := range s.order {
		errs = append(errs, srv.close())
	}
	for _, name := range sortedKeys(s.clients) {
		for _, to := range sortedKeys(s.clients[name]) {
			s.clients[name][to].close()
		}
	}
	for _, l := range s.links {
		errs = append(errs, l.close())
	}
	return errors.Join(append(errs, s.dir.remove())...)
}
