package sim

import (
	"errors"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/Shopify/toxiproxy/v2/stream"

	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/internal/goroutines"
	"github.com/holdfast-go/holdfast/internal/traffic"
)

// pipeConn is one end of an in-memory connection. It behaves as a TCP
// connection does: bytes arrive in order, later, or not at all before the
// connection breaks; a write succeeds as soon as the bytes are on their way.
type pipeConn struct {
	local, remote net.Addr
	in, out       *pipe
	owner         *Process // whose pause freezes this end; nil for servers
	number        int      // which connection of its link, from 1
	peer          *pipeConn
	lost          atomic.Bool // something was written after the connection broke
	close         sync.Once
	onClose       func()
}

// connect makes a connection and returns both ends. up carries what the
// dialling end writes.
func connect(l *link, n int, owner *Process, up, down *rand.Rand, from, to net.Addr) (client, server *pipeConn) {
	u, d := newPipe(l, traffic.SentUp, up), newPipe(l, traffic.SentDown, down)
	client = &pipeConn{local: from, remote: to, in: d, out: u, owner: owner, number: n}
	server = &pipeConn{local: to, remote: from, in: u, out: d}
	client.peer, server.peer = server, client
	d.reader, u.reader = client, server
	if l.announce != nil {
		d.arrivals = new(faults.Arrivals)
	}
	return client, server
}

func (c *pipeConn) frozen() bool { return c.owner != nil && c.owner.Paused() }

// Read returns the data that has arrived. In a client process it takes a turn before it
// returns an error. A fault may break several connections at one instant, and each reader
// then draws its pause from the same source. Those of one link go on some nanoseconds apart,
// because what they do next would otherwise be at one instant again.
func (c *pipeConn) Read(b []byte) (int, error) {
	n, thawed, err := 0, false, c.lostWrite()
	if err == nil {
		n, thawed, err = c.in.read(b, c.frozen)
	}
	if c.owner != nil && (err != nil || thawed) {
		if err != nil && !errors.Is(err, net.ErrClosed) {
			time.Sleep(time.Duration(c.number))
		}
		c.takeTurn()
		if thawed {
			c.owner.follow()
		}
	}
	return n, err
}

// Write never waits, even in a paused process: go-redis holds mutexes while it
// writes, and a goroutine that waits for a mutex stops virtual time. The data of a
// paused process leaves when the process resumes. Data for a broken connection is
// lost, and the next Read reports that, in its turn.
func (c *pipeConn) Write(b []byte) (int, error) {
	if c.owner != nil && (c.owner.Crashed() || c.out.wasReset()) {
		c.lost.Store(true)
		return len(b), nil
	}
	now := time.Now()
	if c.owner != nil {
		c.out.sentBy(now, goroutines.Marked())
	}
	if !c.out.send(&stream.StreamChunk{Data: slices.Clone(b), Timestamp: now}, c.frozen()) {
		return 0, errWrite
	}
	return len(b), nil
}

// takeTurn returns when it is the turn of a client's end among those of this instant.
func (c *pipeConn) takeTurn() {
	l := c.in.link
	l.turns.take(turnKey{from: l.from, to: l.to, n: c.number})
}

// lostWrite is the error of a lost write, or nil.
func (c *pipeConn) lostWrite() error {
	switch {
	case !c.lost.Load():
		return nil
	case c.owner.Crashed():
		return &net.OpError{Op: "write", Net: "tcp", Addr: c.remote, Err: errCrashed}
	}
	return errWrite
}

// Close ends this end; the other end reads what was sent before, then EOF.
func (c *pipeConn) Close() error {
	c.close.Do(func() {
		c.log(traffic.Closed)
		c.in.fail(net.ErrClosed)
		c.out.send(nil, c.frozen())
		c.release()
	})
	return nil
}

// reset breaks both ends at once; data on its way is lost.
func (c *pipeConn) reset() {
	err := &net.OpError{Op: "read", Net: "tcp", Addr: c.remote, Err: errReset}
	c.in.link.used(traffic.Broke)
	c.log(traffic.Broken)
	for _, p := range []*pipe{c.in, c.out} {
		p.hear()
		p.fail(err)
		p.cutOff()
	}
	c.close.Do(c.release)
	c.peer.close.Do(c.peer.release)
}

// vanish ends this end alone. The other end gets no more data and no end of the
// stream, and its data is lost. Data that this end has sent before still arrives,
// unless loseSent.
func (c *pipeConn) vanish(loseSent bool) {
	c.in.link.used(traffic.Broke)
	c.in.fail(&net.OpError{Op: "read", Net: "tcp", Addr: c.remote, Err: errReset})
	c.in.swallow(true)
	c.out.swallow(loseSent)
	c.in.cutOff()
	if loseSent {
		c.out.cutOff()
	}
}

func (c *pipeConn) release() {
	if c.owner != nil {
		c.owner.track(c, false)
	}
	if c.onClose != nil {
		c.onClose()
	}
}

func (c *pipeConn) LocalAddr() net.Addr               { return c.local }
func (c *pipeConn) RemoteAddr() net.Addr              { return c.remote }
func (c *pipeConn) SetReadDeadline(t time.Time) error { c.in.setDeadline(t); return nil }
func (c *pipeConn) SetWriteDeadline(time.Time) error  { return nil } // writes never wait for the peer
func (c *pipeConn) SetDeadline(t time.Time) error     { return c.SetReadDeadline(t) }
