package main

import (
	"net"
	"sync/atomic"
	"time"
)

// contact has the last time at which an ensemble has surely heard of a client. That is
// the time at which the client sent the request before the last that it has read. The
// session lasts for its timeout after that.
type contact struct{ wrote, answered atomic.Pointer[time.Time] }

// last is when that was; it is not called before a session has begun.
func (c *contact) last() time.Time { return *c.answered.Load() }

// dial opens a connection of the client.
func (c *contact) dial(network, addr string, timeout time.Duration) (net.Conn, error) {
	conn, err := net.DialTimeout(network, addr, timeout)
	if err != nil {
		return nil, err
	}
	return heard{conn, c}, nil
}

type heard struct {
	net.Conn
	contact *contact
}

func (h heard) Write(b []byte) (int, error) {
	now := time.Now()
	h.contact.wrote.Store(&now)
	return h.Conn.Write(b)
}

func (h heard) Read(b []byte) (int, error) {
	n, err := h.Conn.Read(b)
	if n > 0 {
		h.contact.answered.Store(h.contact.wrote.Load())
	}
	return n, err
}
