package adapter

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Access is the way of one client process to the servers, over links of its own.
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
	// TimeScale is the length of a second of the scenario here, in seconds. At 0.2 every
	// wait of a client takes a fifth of the time. 0 is 1.
	TimeScale float64 `json:"time_scale,omitempty"`
}

// Scaled is a duration of the scenario's, or of a library's defaults, in this
// world.
func (a Access) Scaled(d time.Duration) time.Duration {
	if a.TimeScale == 0 {
		return d
	}
	return time.Duration(float64(d) * a.TimeScale)
}

// Dial connects to an address, or to what it is mapped to: to the client's own
// listener for the server that announces it.
func (a Access) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if to, ok := a.Map[addr]; ok {
		addr = to
	}
	d := net.Dialer{Timeout: a.Scaled(defaults().DialTimeout)}
	return d.DialContext(ctx, network, addr)
}

// clusterReload is the largest age of a cluster client's map of the slots. go-redis'
// default is a minute, and nothing but a redirection makes it look sooner: not even an
// owner that is dead.
const clusterReload = time.Second

// Client is a go-redis client for a group, with go-redis' own defaults: a failover client
// where Sentinels watch, one for all groups in a cluster. Its timeouts and back-offs are
// the defaults times TimeScale. The exception is that a cluster client reads the map of
// the slots once in a second instead of once in a minute.
func (a Access) Client(group int) redis.UniversalClient {
	d := defaults()
	o := &redis.UniversalOptions{
		Dialer: a.Dial, DisableIdentity: true,
		DialTimeout: a.Scaled(d.DialTimeout), DialerRetryTimeout: a.Scaled(d.DialerRetryTimeout),
		ReadTimeout: a.Scaled(d.ReadTimeout), WriteTimeout: a.Scaled(d.WriteTimeout), PoolTimeout: a.Scaled(d.PoolTimeout),
		MinRetryBackoff: a.Scaled(d.MinRetryBackoff), MaxRetryBackoff: a.Scaled(d.MaxRetryBackoff),
		FailingTimeoutSeconds:    max(1, int(a.Scaled(failingTimeout).Seconds())),
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
	switch {
	case a.Cluster:
		o.Addrs = a.Primaries
		cluster := o.Cluster()
		cluster.ClusterStateReloadInterval = a.Scaled(clusterReload)
		return redis.NewClusterClient(cluster)
	case len(a.Sentinels) > 0:
		o.Addrs, o.MasterName = a.Sentinels, a.Masters[group-1]
		return redis.NewFailoverClient(o.Failover())
	}
	o.Addrs = a.Primaries[group-1 : group]
	return redis.NewClient(o.Simple())
}

// failingTimeout is the time for which a cluster client avoids a node that failed, by
// go-redis' default.
const failingTimeout = 15 * time.Second

// defaults are the values that go-redis chooses for empty options, which differ from
// version to version. The simulator's clients have them as they are.
var defaults = sync.OnceValue(func() redis.Options {
	c := redis.NewClient(new(redis.Options))
	defer c.Close()
	return *c.Options()
})
