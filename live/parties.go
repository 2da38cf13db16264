package live

import "sync"

// parties remembers who is behind the connections that servers see: every one
// of them comes from a proxy. A connection that has ended stays known, as a
// server may still tell of it.
type parties struct {
	mu   sync.Mutex
	from map[connection]string
}

// connection is what a server sees: two servers may see the same address.
type connection struct{ server, addr string }

func newParties() *parties { return &parties{from: map[connection]string{}} }

// add is called before the connection carries anything.
func (p *parties) add(server, addr, from string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.from[connection{server, addr}] = from
}

// of is who connects to a server from addr; "" is the harness itself, which
// needs no proxy.
func (p *parties) of(server, addr string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.from[connection{server, addr}]
}
