package servers

import (
	"context"
	"net"
	"slices"
	"time"
)

// Observer follows the commands of one server.
type Observer interface {
	// Sync waits for the report of what the server executes now. ended says that the feed
	// broke before, attached that there is one. With last, the server executes nothing
	// for any client from then on, or nothing that the feed would not tell.
	Sync(ctx context.Context, last bool) (ended, attached bool, err error)
	// Watching says whether everything that the server executes from now on is
	// seen.
	Watching() bool
	// Patterns is the number of patterns that it is subscribed to at the server.
	Patterns() int
	// Named are the names of keys and channels of the run that the server has reported,
	// where others use it as well.
	Named() []string
}

// Context ends when the servers are closed.
func (s *Servers) Context() context.Context { return s.ctx }

// RunKey is the part that all keys of the run contain on external servers; "" on
// the run's own servers.
func (s *Servers) RunKey() string {
	if x := s.external(); x != nil {
		return x.key
	}
	return ""
}

// Observable are the servers that can be observed. Of an external cluster these
// are the owners of the run's key. Replicas of external servers and bundled
// servers cannot be observed.
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

func (srv *Server) observing() Observer {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	return srv.observer
}

func (srv *Server) IsExternal() bool { return srv.external != nil }

// Miniredis reports whether the server itself reports its requests.
func (srv *Server) Miniredis() bool { return srv.world.opts.Backend.mini() }
func (srv *Server) InCluster() bool { return srv.world.opts.Cluster }

// TellsEvents reports whether the server publishes the events of its keys.
func (srv *Server) TellsEvents() bool { return srv.external == nil || srv.external.events }

// Writes reports whether a command may change a key of an external server.
func (srv *Server) Writes(command string) bool { return srv.external.writes[command] }

// Dial opens a connection without toxics, logged in if the server needs that.
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

// Party is the client or server behind a connection from an address that the
// server sees; "" is the harness itself.
func (srv *Server) Party(from string) string { return srv.world.parties.Of(srv.Name, from) }

// IsPeer reports whether another server announces an address.
func (srv *Server) IsPeer(addr string) bool {
	other, ok := srv.world.behind(addr)
	return ok && other != srv
}
