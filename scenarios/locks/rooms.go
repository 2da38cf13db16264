package locks

import (
	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/redis/keyspace"
	"github.com/holdfast-go/holdfast/internal/textbook"
	"github.com/holdfast-go/holdfast/lock"
)

// semaphorePermits is the number of permits of the built-in semaphores.
const semaphorePermits = 2

// semaphore is a textbook lock with several permits.
func semaphore(name, summary string, lease bool, make func(redis.UniversalClient, string, string, textbook.Options) lock.Locker) *Lock {
	s := textbookLock(name, summary, lease, make)
	s.Claims.Permits = semaphorePermits
	return s
}

// semaphoreZSet is a semaphore whose acquires can take several permits.
func semaphoreZSet() *Lock {
	s := semaphore("semaphore-zset", "a sorted set of two permits with the ends of their leases, in scripts", true, textbook.NewSemaphoreZSet)
	s.Claims.Weighted = true
	return s.with(Habits{Scripts: true}).shows(textbook.PermitsOfZSet)
}

// semaphoreClock is a semaphore whose permits last a little longer than their leases.
func semaphoreClock() *Lock {
	s := semaphore("semaphore-clock", "semaphore-zset by the clocks of the clients, in scripts", true, textbook.NewSemaphoreClock)
	s.numbers = func(in Setting) history.Terms {
		t := textbookNumbers(in)
		t.LeaseSlack = int64(textbook.ClockGrace)
		return t
	}
	return s.with(Habits{Scripts: true, Clock: true}).shows(textbook.PermitsOfZSet)
}

// semaphoreList is a semaphore whose free permits stay on the server.
func semaphoreList() *Lock {
	s := semaphore("semaphore-list", "a list of two tokens without a lease, LPOP to take one and RPUSH to give it back", false, textbook.NewSemaphoreList)
	s.Keeps = func(name, key string) bool { return key == name || key == textbook.MadeSemaphore(name) }
	return s
}

// semaphoreQuorum is a semaphore on several servers.
func semaphoreQuorum() *Lock {
	s := semaphore("semaphore-quorum", "semaphore-zset on a majority of three independent primaries", true, nil)
	s.Groups, s.quorum = 3, 2
	s.Open = func(e Environment) (Session, error) { return quorumSession{textbookSession{e, nil}}, nil }
	return s.with(Habits{Scripts: true, Chance: true}).shows(textbook.PermitsOfZSet)
}

type quorumSession struct{ textbookSession }

func (s quorumSession) Locker(name, thread string) lock.Locker {
	return textbook.NewSemaphoreQuorum(s.env.Clients, name, s.Identity(thread), s.options(thread))
}

// readWrite is the textbook lock for readers and writers.
func readWrite(name, summary string) *Lock {
	s := textbookLock(name, summary, true, nil)
	s.Claims.ReadWrite, s.Claims.Upgrades, s.Claims.Downgrades = true, true, true
	s.Open = func(e Environment) (Session, error) {
		return readWriteSession{textbookSession{e, textbook.NewWrite}, textbookSession{e, textbook.NewRead}}, nil
	}
	return s
}

// readWriteSession is a client process with writers and readers.
type readWriteSession struct {
	textbookSession
	readers textbookSession
}

// ShareLocker implements [Sharer].
func (s readWriteSession) ShareLocker(name, thread string, _ history.Share) lock.Locker {
	return s.readers.Locker(name, thread)
}

// shows sets the reader of the holds on servers, and of more keys than that of the lock.
func (s *Lock) shows(holders func(keyspace.View) []keyspace.Hold, keys ...string) *Lock {
	s.Holders, s.Keys = holders, keys
	return s
}
