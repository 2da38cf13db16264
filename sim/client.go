package sim

import (
	"context"
	"fmt"
	"net"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// poolSize exceeds the connections of one process, so no caller queues for a
// connection. go-redis keeps the timers of queued callers in a pool of the whole
// program, and one bubble must not use another's timer. After poolSize failed
// dials go-redis also starts a probe of its own, at the instant of the next dial.
const poolSize = 256

// The buffers of a connection, in bytes. Those of go-redis are 32 KiB each, and to clear
// them takes a simulated run longer than its requests need. A request beyond the second
// one leaves in parts.
const readBuffer, writeBuffer = 4 << 10, 16 << 10

// Client returns a go-redis client of a process for a group, with go-redis'
// defaults. It follows the group's primary like a Sentinel client. In a cluster
// one client serves all groups.
func (w *World) Client(p *Process, group int) redis.UniversalClient {
	o := &redis.UniversalOptions{
		PoolSize:                 poolSize,
		PipelinePoolSize:         poolSize,
		ReadBufferSize:           readBuffer,
		WriteBufferSize:          writeBuffer,
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
	if !w.opts.Cluster {
		o.Addrs = []string{address(group, 0).String()}
		o.Dialer = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return w.dial(ctx, p, w.routeOf(p.Name(), group))
		}
		return redis.NewClient(o.Simple())
	}
	o.Addrs = []string{w.primaryOf(1).addr.String()}
	o.Dialer = func(ctx context.Context, _, addr string) (net.Conn, error) {
		n, err := w.at(addr)
		if err != nil {
			return nil, err
		}
		return w.dial(ctx, p, n)
	}
	all := o.Cluster()
	all.ClusterSlots = func(context.Context) ([]redis.ClusterSlot, error) { return w.slotMap(p), nil }
	return redis.NewClusterClient(all)
}

// Addresses are the addresses of the primaries of the first groups, for [World.Dialer].
func (w *World) Addresses(groups int) []string {
	all := make([]string, groups)
	for g := range all {
		all[g] = address(g+1, 0).String()
	}
	return all
}

// Dialer connects a process to the groups' primaries by their addresses, for
// clients other than go-redis. It follows a primary as [World.Client] does. The
// world must not be a cluster.
func (w *World) Dialer(p *Process) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, _, addr string) (net.Conn, error) {
		for g := 1; g <= w.opts.Groups; g++ {
			if address(g, 0).String() == addr {
				return w.dial(ctx, p, w.routeOf(p.Name(), g))
			}
		}
		return nil, fmt.Errorf("dial %s: there is no such server", addr)
	}
}

// at finds the server with an address.
func (w *World) at(addr string) (*node, error) {
	for _, n := range w.nodes {
		if n.addr.String() == addr {
			return n, nil
		}
	}
	return nil, fmt.Errorf("dial %s: no such server in this world", addr)
}
