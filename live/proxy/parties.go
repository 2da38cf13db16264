package proxy

import "sync"

// Parties remembers who is behind the connections that servers see: every one
// of them comes from a proxy. A connection that has ended stays known, as a
// server may still tell of it.
type Parties struct {
	mu   sync.Mutex
	from map[connection]string
}

// connection is what a server sees: two servers may see the same address.
type connection struct{ server, addr string }

// NewParties remembers nobody yet.
func NewParties() *Parties { return &Parties{from: map[connection]string{}} }

// add is called before the connection carries anything.
func (p *Parties) add(server, addr, from string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.from[connection{server, addr}] = from
}

// Of is who connects to a server from addr; "" is the harness itself, which
// needs no proxy.
func (p *Parties) Of(server, addr string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.from[connection{server, addr}]
}
