package live

import (
	"fmt"

	"github.com/holdfast-go/holdfast/subject/adapter"
)

// Access is how one client process reaches the servers, over links of its own.
type Access = adapter.Access

// Access is how a client reaches the servers.
func (s *Servers) Access(client string) (Access, error) {
	gates := s.clients[client]
	if gates == nil {
		return Access{}, fmt.Errorf("no client %q in this world", client)
	}
	a := Access{Cluster: s.opts.Cluster, Map: map[string]string{}}
	for _, srv := range s.order {
		addr := gates[srv.name].addr()
		for _, name := range srv.announced() {
			a.Map[name] = addr
		}
		if s.foreign() != nil {
			a.Primaries = append(a.Primaries, addr)
		}
		if srv.sentinel {
			a.Sentinels = append(a.Sentinels, addr)
		}
	}
	for _, srv := range s.order {
		switch {
		case s.foreign() != nil: // all of them are there
		case a.Sentinels == nil && srv.rank == 0, s.opts.Cluster:
			a.Primaries = append(a.Primaries, gates[srv.name].addr())
		case srv.rank == 0 && !srv.sentinel:
			a.Masters = append(a.Masters, s.master(srv.group))
		}
	}
	return a, nil
}
