package servers

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/internal/live/proxy"
	"github.com/holdfast-go/holdfast/internal/redis/resp"
)

// errExternal is the error of an operation that would affect other users of an
// external server.
var errExternal = errors.New("the servers are not ours: they are the user's own")

func (srv *Server) mayControl() error {
	if srv.external != nil {
		return fmt.Errorf("%s: %w", srv.Name, errExternal)
	}
	return nil
}

// externalPID stands for the unknown process of an external server.
const externalPID = -1

// options are those of a world that uses the servers.
func (o *External) options(base Options) Options {
	return Options{
		Backend: base.Backend, Clients: base.Clients, Groups: len(o.groups), Cluster: o.Cluster(), Sentinel: o.kind == kindSentinel,
		Detect: base.Detect, Dir: base.Dir,
	}
}

// external are the servers of the user's own that the world uses; nil for ours.
func (s *Servers) external() *External { return s.opts.Backend.External }

func (s *Servers) layExternal() {
	o := s.external()
	var primaries, replicas []*place
	var counts []int
	for _, members := range o.groups {
		primaries, replicas = append(primaries, members[0]), append(replicas, members[1:]...)
		counts = append(counts, len(members)-1)
	}
	places := slices.Concat(primaries, replicas, o.watchers)
	for i, srv := range s.line(counts, len(o.watchers)) {
		srv.external = places[i]
		srv.proc = &process{done: make(chan struct{})} // it never ends, as far as we know
	}
}

func (srv *Server) announced() []string {
	if srv.external != nil {
		return srv.external.names
	}
	if srv.world.bundled() != nil {
		return nil // no client learns of its door
	}
	return []string{srv.door.Addr().String()}
}

func (s *Servers) master(group int) string {
	if s.external() != nil {
		return s.external().master
	}
	return watched(group)
}

func (srv *Server) way() way {
	if srv.external == nil {
		return way{}
	}
	return srv.external.way
}

// greetLimit is the time that a server may take to greet a connection.
const greetLimit = 5 * time.Second

// greeting prepares a connection of the proxy for a client. An external server may
// ask for TLS, a certificate and a password, which the client need not know. A server of
// ours may have a user for clients.
// greeting also returns the address that the server sees. Behind containers it may
// differ from the proxy's.
func (srv *Server) greeting() proxy.Greeting {
	p := srv.external
	if p == nil && srv.world.opts.User && !srv.sentinel {
		return func(c proxy.Conn) (proxy.Conn, string, error) {
			_, err := (&place{way: way{login: asClient}}).say(c)
			return c, c.LocalAddr().String(), err
		}
	}
	if p == nil || srv.sentinel && p.way == (way{}) {
		return nil
	}
	return func(c proxy.Conn) (proxy.Conn, string, error) {
		secured, err := p.way.secure(c, p.addr)
		if err != nil || srv.sentinel && p.way.login == (login{}) {
			return secured, c.LocalAddr().String(), err
		}
		replies, err := p.say(secured, []string{"CLIENT", "INFO"})
		if err != nil {
			return nil, "", err
		}
		text := replies[0].Text
		from := clientField(text, "addr")
		if from == "" {
			return nil, "", fmt.Errorf("%s does not say where a connection comes from: %q", p.addr, text)
		}
		return secured, from, nil
	}
}

// say logs in on a new connection, sends commands, and returns the replies. An
// error reply is an error.
func (p *place) say(c net.Conn, commands ...[]string) (replies []resp.Value, err error) {
	c.SetDeadline(time.Now().Add(greetLimit))
	defer c.SetDeadline(time.Time{})
	if in := p.way.login.command(); in != nil {
		commands = append([][]string{in}, commands...)
		defer func() { replies = replies[min(1, len(replies)):] }()
	}
	in := bufio.NewReader(c)
	for _, command := range commands {
		if _, err := c.Write(resp.AppendRequest(nil, command...)); err != nil {
			return nil, err
		}
		reply, err := resp.Read(in)
		if err = cmp.Or(err, reply.Err()); err != nil {
			return nil, err
		}
		replies = append(replies, reply)
	}
	return replies, nil
}

// command logs in; nil if no login is needed.
func (l login) command() []string {
	switch {
	case l == login{}:
		return nil
	case l.user == "":
		return []string{"AUTH", l.password}
	}
	return []string{"AUTH", l.user, l.password}
}

// mayMonitor returns the reason why a server does not allow the commands of a run,
// or nil.
func (p *place) mayMonitor(ctx context.Context) error {
	c, err := p.dial(ctx, new(net.Dialer))
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := p.say(c, []string{"CLIENT", "INFO"}, []string{"MONITOR"}); err != nil {
		return fmt.Errorf("CLIENT INFO and MONITOR have to be allowed: %w", err)
	}
	return nil
}

// clientField is a field of CLIENT INFO or of a line of CLIENT LIST.
func clientField(line, name string) string {
	for _, f := range strings.Fields(line) {
		if value, ok := strings.CutPrefix(f, name+"="); ok {
			return value
		}
	}
	return ""
}
