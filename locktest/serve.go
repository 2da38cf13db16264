package locktest

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9/logging"

	"github.com/holdfast-go/holdfast/internal/adapter"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// Serve makes this process a client of the live world with these locks. It speaks
// the protocol of docs/adapter-protocol.md on in and out, the process's standard
// input and output. Nothing else may write to out. Serve returns nil after the
// request stop. Build such a program, and pass it to holdfast run --world live
// --adapter.
func Serve(ctx context.Context, in io.Reader, out io.Writer, locks ...Lock) error {
	logging.Disable()
	p := adapter.Program{Open: func(h adapter.Hello) (adapter.Lock, error) { return openFor(h, locks) }}
	for _, l := range locks {
		if _, err := l.forScenarios(); err != nil {
			return err
		}
		p.Locks = append(p.Locks, l.description())
	}
	return adapter.Serve(ctx, in, out, p)
}

// openFor opens the lock that a hello names over connections of its own.
func openFor(h adapter.Hello, offered []Lock) (adapter.Lock, error) {
	i := slices.IndexFunc(offered, func(l Lock) bool { return l.description().Name == h.Lock })
	if i < 0 {
		return nil, fmt.Errorf("there is no lock %q here, only %s", h.Lock, strings.Join(names(offered), ", "))
	}
	e := locks.Environment{
		Process: h.Process, Seed: h.Seed, Lease: time.Duration(h.LeaseNS), Poll: time.Duration(h.PollNS), Replicas: h.Replicas,
		Scale: cmp.Or(h.Redis.TimeScale, 1), Dial: h.Redis.Dial,
	}
	if !h.Redis.Cluster {
		e.Addrs = h.Redis.Primaries
	}
	for g := range offered[i].description().Groups() {
		e.Clients = append(e.Clients, h.Redis.Client(g+1))
	}
	for _, rdb := range e.Clients { // a process that has been up for a while is connected
		if err := rdb.Ping(context.Background()).Err(); err != nil {
			return nil, fmt.Errorf("reach a primary: %w", err)
		}
	}
	c := newClient(e)
	c.Access = &h.Redis
	s, err := offered[i].openIn(c)
	if err != nil {
		return nil, err
	}
	return adapter.SessionLock(s, e.Clients), nil
}
