package play

import (
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/history"
	"github.com/holdfast-go/holdfast/redis/keyspace"
)

// owners maps what a lock stores on a server to the owner it stands for.
type owners struct {
	lock string // its name, as clients know it

	mu   sync.Mutex
	name map[string]string
	told map[string]bool // the identities that a lock has told of
	// tenures are the owners of each client. Of a lock that does not tell what
	// it stores, whose a value is can be seen from who stored it.
	tenures map[string][]tenure
}

// tenure is the time from which on an owner is the one of its client.
type tenure struct {
	owner string
	from  time.Time
}

func NewOwners(lock string) *owners {
	return &owners{lock: lock, name: map[string]string{}, told: map[string]bool{}, tenures: map[string][]tenure{}}
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
	before, wasCount := HolderOf(c.Before)
	after, count := HolderOf(c.After)
	if after != "" && after != before {
		at := c.At
		if at.IsZero() {
			at = time.Now()
		}
		o.stored(c.By, after, at)
	}
	s.Holder, s.Count = o.Of(after), count
	s.WasHolder, s.WasCount = o.Of(before), wasCount
	s.TTL, s.WasTTL = ttl(c.After, c.Now), ttl(c.Before, c.Now)
	return history.Event{Kind: history.Server, Lock: o.lock, Server: s}
}

// HolderOf reads a lock key: a string is one hold of the identity it contains, a
// hash has a count per identity.
func HolderOf(v keyspace.Value) (identity string, count int) {
	switch v.Type {
	case "string":
		return v.Str, 1
	case "hash":
		for identity, count := range v.Hash { // a lock has one holder; other fields do not count holds
			if n, ok := holdCount(count); ok && strings.Contains(identity, ":") {
				return identity, n
			}
		}
	}
	return "", 0
}

func holdCount(s string) (int, bool) {
	n := 0
	for _, c := range s {
		if c < '0' || c > '9' || n > 1e6 {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, s != ""
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
