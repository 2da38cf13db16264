package rueidislock

import (
	"context"
	"crypto/tls"
	"net"
	"time"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"

	"github.com/holdfast-go/holdfast/internal/adapter"
)

// open makes the lock of a process as rueidislock's README does for one Redis of version
// 7.0.5 or newer. It has one key, and gets no messages about a client's own writes. The
// timeouts are rueidis' defaults, in the time of the run. The default of 20 ms for a
// request that takes a lock stays 20 ms. A request does not get faster with the time of
// the run.
func open(a adapter.Access, lease time.Duration) (rueidislock.Locker, error) {
	o := rueidis.ClientOption{
		InitAddress: a.Primaries,
		DialCtxFn: func(ctx context.Context, addr string, _ *net.Dialer, _ *tls.Config) (net.Conn, error) {
			return a.Dial(ctx, "tcp", addr)
		},
		Dialer:           net.Dialer{Timeout: a.Scaled(rueidis.DefaultDialTimeout), KeepAlive: a.Scaled(rueidis.DefaultTCPKeepAlive)},
		ConnWriteTimeout: a.Scaled(10 * rueidis.DefaultTCPKeepAlive), // as rueidis derives it
	}
	if len(a.Sentinels) > 0 {
		o.InitAddress = a.Sentinels
		o.Sentinel = rueidis.SentinelOption{MasterSet: a.Masters[0], Dialer: o.Dialer}
	}
	return rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption: o, KeyValidity: lease, KeyMajority: 1, NoLoopTracking: true,
	})
}
