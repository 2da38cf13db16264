package servers

import (
	"fmt"

	"github.com/holdfast-go/holdfast/internal/adapter"
)

// Access describes the servers for a client process, over links of its own.
func (s *Servers) Access(client string) (adapter.Access, error) {
	listeners := s.clients[client]
	if listeners == nil {
		return adapter.Access{}, fmt.Errorf("no client %q in this world", client)
	}
	a := adapter.Access{Cluster: s.opts.Cluster, Map: map[string]string{}}
	for _, srv := range s.order {
		addr := listeners[srv.Name].Addr().String()
		for _, name := range srv.announced() {
			a.Map[name] = addr
		}
		if s.bundled() != nil {
			a.Primaries = append(a.Primaries, addr)
		}
		if srv.sentinel {
			a.Sentinels = append(a.Sentinels, addr)
		}
	}
	for _, srv := range s.order {
		switch {
		case s.bundled() != nil: // all of them are there
		case a.Sentinels == nil && srv.rank == 0, s.opts.Cluster:
			a.Primaries = append(a.Primaries, listeners[srv.Name].Addr().String())
		case srv.rank == 0 && !srv.sentinel:
			a.Masters = append(a.Masters, s.master(srv.group))
		}
	}
	return a, nil
}

// ClientDir creates the working directory of a client's process.
func (s *Servers) ClientDir(client string) (string, error) {
	if !s.HasClient(client) {
		return "", fmt.Errorf("no client %q in this world", client)
	}
	return s.dir.Make(client)
}

// HasClient reports whether a client of that name may use the servers.
func (s *Servers) HasClient(client string) bool { return s.clients[client] != nil }
