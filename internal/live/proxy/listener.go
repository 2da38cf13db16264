package proxy

import (
	"context"
	"fmt"
	"net"
	"sync"
)

// Listener listens on behalf of one server. Each accepted connection belongs to a
// link, which may depend on the source address.
type Listener struct {
	listener net.Listener
	server   func() string // the address of the server behind it
	link     Finder
	greet    Greeting
	serving  sync.WaitGroup
	dialing  context.Context
	stop     context.CancelFunc
}

// Finder returns the link of a connection from an address, or nil for a stranger,
// whom the listener rejects.
type Finder func(from *net.TCPAddr) *Link

// Greeting prepares a new connection to a server for its client. It returns the
// connection that carries the client's bytes, which may encrypt them, and the
// address that the server sees. nil prepares nothing.
type Greeting func(Conn) (greeted Conn, from string, err error)

// Listen listens on a free port of 127.0.0.1 until Close.
func Listen(server func() string, link Finder, greet Greeting) (*Listener, error) {
	tcp, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("open a proxy: %w", err)
	}
	l := &Listener{listener: tcp, server: server, link: link, greet: greet}
	l.dialing, l.stop = context.WithCancel(context.Background())
	l.serving.Go(l.accept)
	return l, nil
}

func (l *Listener) Addr() *net.TCPAddr { return l.listener.Addr().(*net.TCPAddr) }

func (l *Listener) accept() {
	for {
		c, err := l.listener.Accept()
		if err != nil {
			return // closed
		}
		l.serving.Go(func() { l.serve(c.(*net.TCPConn)) })
	}
}

// serve connects a new connection to the server. It breaks the connection if the
// server refuses.
func (l *Listener) serve(c *net.TCPConn) {
	link := l.link(c.RemoteAddr().(*net.TCPAddr))
	if link == nil || link.refusals.Refused() {
		abort(c)
		return
	}
	server, from, err := l.connect()
	if err != nil {
		abort(c)
		return
	}
	link.join(c, server, from)
}

// connect opens a connection to the server, and returns the address that the
// server sees.
func (l *Listener) connect() (server Conn, from string, err error) {
	conn, err := new(net.Dialer).DialContext(l.dialing, "tcp", l.server())
	if err != nil {
		return nil, "", err
	}
	server, from = conn.(*net.TCPConn), conn.LocalAddr().String()
	if l.greet == nil {
		return server, from, nil
	}
	stop := context.AfterFunc(l.dialing, func() { conn.Close() })
	defer stop()
	greeted, from, err := l.greet(server)
	if err != nil {
		abort(server)
		return nil, "", err
	}
	return greeted, from, nil
}

// Close stops listening. A nil Listener was never opened.
func (l *Listener) Close() {
	if l == nil {
		return
	}
	l.stop()
	l.listener.Close()
	l.serving.Wait()
}

// abort breaks a connection at once, and notifies the other side.
func abort(c Conn) {
	var raw net.Conn = c
	if over, ok := c.(interface{ NetConn() net.Conn }); ok {
		raw = over.NetConn() // without a TLS farewell
	}
	if tcp, ok := raw.(*net.TCPConn); ok {
		tcp.SetLinger(0)
	}
	raw.Close()
}
