package proxy

import "sync"

// Parties maps the connections that servers see to the parties behind the proxies.
// It keeps ended connections, because a server may still report them.
type Parties struct {
	mu   sync.Mutex
	from map[connection]string
}

// connection is a server and an address that it sees: two servers may see the same
// address.
type connection struct{ server, addr string }

func NewParties() *Parties { return &Parties{from: map[connection]string{}} }

// add must come before any data of the connection.
func (p *Parties) add(server, addr, from string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.from[connection{server, addr}] = from
}

// Of is the party that connects to a server from addr; "" is the harness itself,
// which needs no proxy.
func (p *Parties) Of(server, addr string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.from[connection{server, addr}]
}
