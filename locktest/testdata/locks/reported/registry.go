package reported

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// takeOwn grants a lock to the process that has it already.
var takeOwn = redis.NewScript(`local is = redis.call("get", KEYS[1])
	if is and is ~= ARGV[1] then return 0 end
	redis.call("set", KEYS[1], ARGV[1], "px", ARGV[2])
	return 1`)

// Registry has the locks of a process: its threads queue in the process, and one of
// them asks the server. Its client must not send a command twice.
type Registry struct {
	Redis   *redis.Client
	ID      string // of the process
	Lease   time.Duration
	Mistake string

	mu    sync.Mutex
	slots map[string]chan struct{} // by the name of the lock
}

// slot is what a thread of the process needs before it asks the server.
func (r *Registry) slot(name string) chan struct{} {
	if r.Mistake == "spring-integration-11146" {
		name = "" // as if the hashes of all names were equal
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.slots == nil {
		r.slots = map[string]chan struct{}{}
	}
	if r.slots[name] == nil {
		r.slots[name] = make(chan struct{}, 1)
	}
	return r.slots[name]
}

// Entry is one thread's view of a lock of the registry.
type Entry struct {
	*Registry
	Name string
	Rand *rand.Rand

	value  string
	inside bool // it has the slot
}

// ofProcess says that the value stands for the process.
func (r *Registry) ofProcess() bool {
	return r.Mistake == "spring-integration-11049" || r.Mistake == "value-of-process"
}

// Lock takes the lock, and waits for it until ctx ends. It then returns [ErrTaken].
func (m *Entry) Lock(ctx context.Context) error {
	slot := m.slot(m.Name)
	select {
	case slot <- struct{}{}:
	case <-ctx.Done():
		return over(ctx, m.Name)
	}
	err := m.ask(ctx)
	if m.inside = err == nil; !m.inside {
		<-slot
	}
	return err
}

func (m *Entry) ask(ctx context.Context) error {
	m.value = fmt.Sprintf("%s %016x", m.ID, m.Rand.Uint64())
	if m.ofProcess() {
		m.value = m.ID
	}
	for {
		sent := time.Now()
		ok, err := m.take(ctx)
		switch {
		case err != nil:
			return failed(ctx, m.Name, err)
		case ok && time.Since(sent) >= m.Lease:
			return late(m.Name)
		case ok:
			return nil
		}
		select {
		case <-ctx.Done():
			return over(ctx, m.Name)
		case <-time.After(Poll):
		}
	}
}

func (m *Entry) take(ctx context.Context) (bool, error) {
	ctx, done := answered(ctx)
	defer done()
	if m.ofProcess() {
		n, err := takeOwn.Run(ctx, m.Redis, []string{m.Name}, m.value, m.Lease.Milliseconds()).Int()
		return n == 1, err
	}
	return m.Redis.SetNX(ctx, m.Name, m.value, m.Lease).Result()
}

// Unlock gives the lock back, also when ctx has ended. A thread may repeat it.
func (m *Entry) Unlock(ctx context.Context) error {
	if slot := m.slot(m.Name); m.inside {
		m.inside = false
		defer func() { <-slot }()
	}
	remove := func() error {
		return giveBack(ctx, m.Name, m.Lease, ErrNotHeld, func(ctx context.Context) (int64, error) {
			return release.Run(ctx, m.Redis, []string{m.Name}, m.value).Int64()
		})
	}
	if m.Mistake == "spring-integration-11049" && ctx.Err() != nil {
		go func() { _ = remove() }() // the thread is interrupted: another one asks
		return nil
	}
	return remove()
}
