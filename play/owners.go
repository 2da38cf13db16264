package play

import (
	"fmt"
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/history"
	"github.com/holdfast-go/holdfast/redis/keyspace"
	"github.com/holdfast-go/holdfast/subject"
)

// owners maps what a lock stores on a server to the owner it stands for.
type owners struct {
	lock string         // its name, as clients know it
	how  subject.Holder // its key tells who holds it

	mu   sync.Mutex
	name map[string]string
	told map[string]bool // the identities that a lock has told of
	// tenures are the owners of each client. Of a lock that does not tell what
	// it stores, whose a value is can be seen from who stored it.
	tenures map[string][]tenure
	unclear string // the first value seen that does not tell who holds the lock
}

// tenure is the time from which on an owner is the one of its client.
type tenure struct {
	owner string
	from  time.Time
}

// NewOwners knows nobody yet. how says how the key of the lock tells who holds it.
func NewOwners(lock string, how subject.Holder) *owners {
	return &owners{lock: lock, how: how, name: map[string]string{}, told: map[string]bool{}, tenures: map[string][]tenure{}}
}

// began notes that an owner begins its work in a client process. identity is
// what the lock stores for it, "" when that is not known.
func (o *owners) began(client, owner, identity string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if identity != "" {
		o.name[identity], o.told[identity] = owner, true
	}
	o.tenures[client] = append(o.tenures[client], tenure{owner, time.Now()})
}

// stored notes that a client has stored an identity that was not there before.
func (o *owners) stored(client, identity string, at time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.told[identity] {
		return
	}
	all := o.tenures[client]
	if i := sort.Search(len(all), func(i int) bool { return all[i].from.After(at) }); i > 0 {
		o.name[identity] = all[i-1].owner
	}
}

func (o *owners) Of(identity string) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if name, ok := o.name[identity]; ok {
		return name
	}
	return identity
}

// ServerEvent turns a change of a lock key into ground truth.
func (o *owners) ServerEvent(c keyspace.Change) history.Event {
	s := &history.ServerEvent{Node: c.Node, Role: c.Role, Key: c.Key, Cause: c.Cause, Command: c.Command, By: c.By}
	before, wasCount, _ := o.how.Of(c.Before)
	after, count, clear := o.how.Of(c.After)
	if !clear && c.After.Exists() {
		s.Holds = c.After.Type + ": " + c.After.String()
		o.cannotRead(c)
	}
	at := c.At
	if at.IsZero() {
		at = time.Now()
	}
	for _, identity := range newcomers(c, before, after) {
		o.stored(c.By, identity, at)
	}
	s.Holder, s.Count = o.Of(after), count
	s.WasHolder, s.WasCount = o.Of(before), wasCount
	s.TTL, s.WasTTL = ttl(c.After, c.Now), ttl(c.Before, c.Now)
	return history.Event{Kind: history.Server, Lock: o.lock, Server: s}
}

// newcomers are the identities that a change has stored. In a queue those are
// the ones that wait; who holds the lock next has stood there before.
func newcomers(c keyspace.Change, before, after string) []string {
	if c.After.Items != nil {
		return slices.DeleteFunc(slices.Clone(c.After.Items), func(x string) bool { return slices.Contains(c.Before.Items, x) })
	}
	if after == "" || after == before {
		return nil
	}
	return []string{after}
}

// cannotRead notes that a change left a value that does not tell who holds the
// lock.
func (o *owners) cannotRead(c keyspace.Change) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.unclear == "" {
		o.unclear = c.After.Type
	}
}

// unseen says why nobody can see on the servers who holds the lock; "" where
// that can be seen.
func (o *owners) unseen() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.how == subject.HolderNone:
		return "the lock declares that its key does not tell who holds it"
	case o.unclear == "":
		return ""
	case o.how == subject.HolderValue:
		return fmt.Sprintf("the key of the lock is a %s, and the lock does not declare how that tells who holds it", o.unclear)
	}
	return fmt.Sprintf("the lock declares %q as its holder, and its key is a %s that does not tell one", o.how, o.unclear)
}

func ttl(v keyspace.Value, now time.Time) int64 {
	switch {
	case !v.Exists():
		return 0
	case v.ExpireAt.IsZero():
		return -1
	}
	return max(int64(v.ExpireAt.Sub(now)), 1)
}
