package live

import (
	"context"
	"fmt"
	"net"
	"sync"
)

// gate is a listener of the proxy before one server. Every connection that it
// accepts belongs to a link, which its source address may decide.
type gate struct {
	listener net.Listener
	server   func() string // the address of the server behind it
	link     whose
	greet    greeting
	serving  sync.WaitGroup
	dialing  context.Context
	stop     context.CancelFunc
}

// whose finds the link that a connection from an address belongs to; nil for a
// stranger's, who is turned away.
type whose func(from *net.TCPAddr) *link

// greeting makes a new connection to a server ready for its client, and says
// what address the server sees it come from. nil is for one that is ready.
type greeting func(net.Conn) (from string, err error)

// openGate listens on a free port of 127.0.0.1, which stays taken until close.
func openGate(server func() string, link whose, greet greeting) (*gate, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("open a proxy: %w", err)
	}
	g := &gate{listener: l, server: server, link: link, greet: greet}
	g.dialing, g.stop = context.WithCancel(context.Background())
	g.serving.Go(g.accept)
	return g, nil
}

func (g *gate) addr() string { return g.listener.Addr().String() }

func (g *gate) port() int { return g.listener.Addr().(*net.TCPAddr).Port }

func (g *gate) accept() {
	for {
		c, err := g.listener.Accept()
		if err != nil {
			return // closed
		}
		g.serving.Go(func() { g.serve(c.(*net.TCPConn)) })
	}
}

// serve connects a new connection to the server. When that refuses, the
// connection breaks.
func (g *gate) serve(c *net.TCPConn) {
	l := g.link(c.RemoteAddr().(*net.TCPAddr))
	if l == nil {
		abort(c)
		return
	}
	server, from, err := g.connect()
	if err != nil {
		abort(c)
		return
	}
	l.join(c, server, from)
}

// connect opens a connection to the server, and says what address the server
// sees it come from.
func (g *gate) connect() (server *net.TCPConn, from string, err error) {
	conn, err := new(net.Dialer).DialContext(g.dialing, "tcp", g.server())
	if err != nil {
		return nil, "", err
	}
	server, from = conn.(*net.TCPConn), conn.LocalAddr().String()
	if g.greet == nil {
		return server, from, nil
	}
	stop := context.AfterFunc(g.dialing, func() { conn.Close() })
	defer stop()
	if from, err = g.greet(conn); err != nil {
		abort(server)
	}
	return server, from, err
}

func (g *gate) close() {
	if g == nil {
		return // it was never opened
	}
	g.stop()
	g.listener.Close()
	g.serving.Wait()
}

// abort breaks a connection at once, and lets the other side know.
func abort(c *net.TCPConn) {
	c.SetLinger(0)
	c.Close()
}
