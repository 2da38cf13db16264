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
	server   func() string           // the address of the server behind it
	link     func(from net.IP) *link // nil for a stranger, who is turned away
	serving  sync.WaitGroup
	dialing  context.Context
	stop     context.CancelFunc
}

// openGate listens on a free port of 127.0.0.1, which stays taken until close.
func openGate(server func() string, link func(from net.IP) *link) (*gate, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("open a proxy: %w", err)
	}
	g := &gate{listener: l, server: server, link: link}
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
	l := g.link(c.RemoteAddr().(*net.TCPAddr).IP)
	if l == nil {
		abort(c)
		return
	}
	server, err := new(net.Dialer).DialContext(g.dialing, "tcp4", g.server())
	if err != nil {
		abort(c)
		return
	}
	l.join(c, server.(*net.TCPConn))
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
