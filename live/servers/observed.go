package servers

import (
	"context"
	"net"
	"slices"
	"time"
)

// Observer follows what one server executes.
type Observer interface {
	// Sync waits until what the server executes now has been told. ended says
	// that the feed broke before, attached that there is one. With last, the
	// server executes nothing for any client from then on, or nothing that the
	// feed would not tell.
	Sync(ctx context.Context, last bool) (ended, attached bool, err error)
	// Watching says whether everything that the server executes from now on is
	// seen.
	Watching() bool
	// Patterns is how many patterns it is subscribed to at the server.
	Patterns() int
	// Named are the names of keys and channels of the run that the server has
	// told, where others use it as well.
	Named() []string
}

// Context ends when the servers are closed.
func (s *Servers) Context() context.Context { return s.ctx }

// RunKey is what the names of all keys of the run contain on servers that
// others use as well; "" on servers of the run's own.
func (s *Servers) RunKey() string {
	if x := s.external(); x != nil {
		return x.key
	}
	return ""
}

// Observable are the servers about which the truth can be known: all nodes, but
// those of an external cluster only where they serve the key of the run, and
// no replica of external servers. Bundled servers tell nothing.
func (s *Servers) Observable() []*Server {
	return slices.DeleteFunc(slices.Clone(s.order), func(srv *Server) bool {
		switch {
		case srv.sentinel || s.bundled() != nil:
			return true
		case srv.external == nil:
			return false
		}
		return srv.rank != 0 || srv.group != 1 && s.opts.Cluster
	})
}

// ObservedBy makes o the observer of the server; nil ends the observation.
func (srv *Server) ObservedBy(o Observer) {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	srv.observer = o
}

// observing is who observes the server, nil for nobody.
func (srv *Server) observing() Observer {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	return srv.observer
}

// external says whether the server is one of the user's own.
func (srv *Server) IsExternal() bool { return srv.external != nil }

// Miniredis says whether the server tells by itself what it executes.
func (srv *Server) Miniredis() bool { return srv.world.opts.Backend.mini() }

// InCluster says whether the server is a node of a cluster.
func (srv *Server) InCluster() bool { return srv.world.opts.Cluster }

// TellsEvents says whether the server tells the events of its keys.
func (srv *Server) TellsEvents() bool { return srv.external == nil || srv.external.events }

// writes says whether a command may change a key of an external server.
func (srv *Server) Writes(command string) bool { return srv.external.writes[command] }

// Dial opens a connection that no toxic touches, logged in where the server
// asks for that.
func (srv *Server) Dial(ctx context.Context) (net.Conn, error) {
	dialer := &net.Dialer{Timeout: time.Second}
	if srv.external == nil {
		return dialer.DialContext(ctx, "tcp", srv.addr())
	}
	conn, err := srv.external.dial(ctx, dialer)
	if err != nil {
		return nil, err
	}
	if _, err := srv.external.say(conn); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// Party is the client or server behind a connection that the server sees come
// from an address; "" is the harness itself.
func (srv *Server) Party(from string) string { return srv.world.parties.Of(srv.Name, from) }

// IsPeer says whether an address is one that another server announces.
func (srv *Server) IsPeer(addr string) bool {
	other, ok := srv.world.behind(addr)
	return ok && other != srv
}
