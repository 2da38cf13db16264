package live

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Access is how one client process reaches the servers, over links of its own.
// It goes to another process as JSON.
type Access struct {
	// Primaries are the addresses of the groups' primaries; in a cluster they
	// are those of its nodes. Empty where Sentinels say who is primary.
	Primaries []string `json:"primaries,omitempty"`
	Cluster   bool     `json:"cluster,omitempty"`
	// Sentinels are their addresses, and Masters what they call the groups.
	Sentinels []string `json:"sentinels,omitempty"`
	Masters   []string `json:"masters,omitempty"`
	// Map says where to connect for an address that Sentinel or the cluster
	// announces.
	Map map[string]string `json:"map"`
}

// Access is how a client reaches the servers.
func (s *Servers) Access(client string) (Access, error) {
	gates := s.clients[client]
	if gates == nil {
		return Access{}, fmt.Errorf("no client %q in this world", client)
	}
	a := Access{Cluster: s.opts.Cluster, Map: map[string]string{}}
	for _, srv := range s.order {
		addr := gates[srv.name].addr()
		a.Map[srv.door.addr()] = addr
		if srv.sentinel {
			a.Sentinels = append(a.Sentinels, addr)
		}
	}
	for _, srv := range s.order {
		switch {
		case a.Sentinels == nil && srv.rank == 0, s.opts.Cluster:
			a.Primaries = append(a.Primaries, gates[srv.name].addr())
		case srv.rank == 0 && !srv.sentinel:
			a.Masters = append(a.Masters, watched(srv.group))
		}
	}
	return a, nil
}

// Dial connects to an address, or to what it is mapped to: to the client's own
// listener for the server that announces it.
func (a Access) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if to, ok := a.Map[addr]; ok {
		addr = to
	}
	d := net.Dialer{Timeout: 5 * time.Second}
	return d.DialContext(ctx, network, addr)
}

// clusterReload is how old a cluster client's map of the slots may become.
// go-redis' default is a minute, and nothing but a redirection makes it look
// sooner: not even an owner that is dead.
const clusterReload = time.Second

// Client is a go-redis client for a group, with go-redis' own defaults: a
// failover client where Sentinels watch, one for all groups in a cluster. The
// exception is how often a cluster client reads the map of the slots, once in
// a second instead of once in a minute.
func (a Access) Client(group int) redis.UniversalClient {
	switch {
	case a.Cluster:
		return redis.NewClusterClient(&redis.ClusterOptions{
			Addrs: a.Primaries, Dialer: a.Dial, DisableIdentity: true, ClusterStateReloadInterval: clusterReload,
			MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		})
	case len(a.Sentinels) > 0:
		return redis.NewFailoverClient(&redis.FailoverOptions{
			MasterName: a.Masters[group-1], SentinelAddrs: a.Sentinels, Dialer: a.Dial, DisableIdentity: true,
		})
	}
	return redis.NewClient(&redis.Options{
		Addr: a.Primaries[group-1], Dialer: a.Dial, DisableIdentity: true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
}
