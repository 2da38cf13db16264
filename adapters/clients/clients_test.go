package clients

import (
	"errors"
	"testing"

	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/locktest"
)

// A right lock passes, whichever client it is made with.
func TestClients(t *testing.T) {
	for name, connect := range map[string]func(string, dial) (commands, error){
		"on-rueidis": newRueidis, "on-redigo": newRedigo, "on-go-redis-8": newGoRedis8,
	} {
		t.Run(name, func(t *testing.T) { locktest.Run(t, on(name, connect), locktest.Seeds(3)) })
	}
}

// on is the lock on a client.
func on(name string, connect func(string, dial) (commands, error)) locktest.Lock {
	return locktest.Lock{
		Name: name, Claims: locktest.Claims{Waits: true, Cancels: true, Lease: true}, Handoff: poll,
		Reaches: []string{"address", "sentinels"}, // one address does not do for a cluster
		Busy:    errTaken, NotHeld: errNotHeld,
		Classify: func(err error) error {
			if errors.Is(err, errUnclear) {
				return lock.ErrUnknown
			}
			return nil
		},
		Open: func(c *locktest.Client) (locktest.Session, error) {
			redis, err := connect(c.Addrs[0], c.Dial)
			return session{redis, c}, err
		},
	}
}

type session struct {
	commands
	c *locktest.Client
}

func (s session) Locker(name, owner string) lock.Locker {
	m := &mutex{commands: s.commands, name: name, lease: s.c.Lease, rand: s.c.Rand(name, owner)}
	return &locktest.Funcs{Acquire: m.lock, Release: m.unlock}
}
