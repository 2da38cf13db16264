package goroutines

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A subscription that go-redis connects again stalls every method of it. A client of a
// cluster that asks for the table of commands stalls all its commands. That is no fault
// of the lock, and the other runs go on.
func TestStallOfTheClient(t *testing.T) {
	for stack, want := range map[string]Kind{
		"sync.(*Mutex).Lock\ngithub.com/redis/go-redis/v9.(*PubSub).Close\nmine.(*Lock).wait": ClientDeadlocked,
		"sync.(*Mutex).Lock\ngithub.com/redis/go-redis/v9.(*PubSub).Ping":                     ClientDeadlocked,
		"sync.(*RWMutex).Lock\ngithub.com/redis/go-redis/v9.(*cmdsInfoCache).Get":             ClientDeadlocked,
		"sync.(*Mutex).Lock\nmine.(*Lock).Unlock":                                             Deadlocked,
	} {
		g := parse("goroutine 3 [sync.Mutex.Lock, synctest bubble 2]:\n" + stack)
		if got := newStall([]Goroutine{g}, time.Minute).Kind(); got != want {
			t.Errorf("%s, want %s, for\n%s", got, want, stack)
		}
	}
}

// A run that waits for a mutex for ever is given up at once, and one that spins after
// its processor time. A user of a lock that does either waits no longer.
func TestARunThatDoesNotEndIsGivenUp(t *testing.T) {
	held := &sync.Mutex{}
	held.Lock()
	defer held.Unlock() // what was left behind ends
	if s := (Detector{Most: time.Hour}).Watch(func() { synctest.Test(t, func(*testing.T) { held.Lock() }) }); s == nil || s.Kind() != Deadlocked {
		t.Errorf("a run that waits for a mutex: %v", s)
	}
	if s := (Detector{Most: time.Hour}).Watch(func() {}); s != nil {
		t.Errorf("a run that ends: %v", s)
	}
}
