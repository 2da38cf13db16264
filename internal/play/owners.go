package play

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/redis/keyspace"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// owners maps the values that a lock stores on a server to its owners.
type owners struct {
	locks   map[string]string // their names, as clients know them, by the key
	how     locks.Holder      // the key tells who holds the lock
	several bool              // may hold the lock at once

	mu    sync.Mutex
	holds *holds // nil if the key tells
	// behind are the changes of holds behind events, if several owners may have the lock.
	behind map[*history.ServerEvent]readChange
	name   map[string]string
	told   map[string]bool   // the identities that a lock has declared
	named  map[string]string // the owner of each name that a session gives one
	// called has the owner whose acquire stored an identity last. Owners of one process
	// may have one identity in turn.
	called map[calledBy]string
	// unresolved is when a client stored an identity that any of its owners may
	// have made: the lock does not tell what it stores.
	unresolved map[string]stored
	unclear    string          // the first value seen that does not tell who holds the lock
	watched    bool            // whether the key of a lock was ever written
	elsewhere  map[string]bool // the other keys that clients wrote
}

// calledBy is an identity of a lock.
type calledBy struct{ lock, identity string }

// stored is the client, lock and time of a stored identity.
type stored struct {
	client, lock string
	at           time.Time
	sent         bool   // at is when the client sent the request
	owner        string // whose acquire sent it, "" if unknown
}

func NewOwners(s *scenarios.Scenario, l *locks.Lock) *owners {
	o := &owners{
		locks: map[string]string{}, how: l.Holder(), several: l.Claims.Capacity() > 1, holds: newHolds(l, s.Workload.Names()), behind: map[*history.ServerEvent]readChange{},
		name: map[string]string{}, called: map[calledBy]string{}, told: map[string]bool{}, named: map[string]string{}, unresolved: map[string]stored{}, elsewhere: map[string]bool{},
	}
	for _, name := range s.Workload.Names() {
		o.locks[l.Key(name)] = name
	}
	return o
}

func (o *owners) IsLock(key string) bool {
	if o.holds != nil {
		o.mu.Lock()
		defer o.mu.Unlock()
		return len(o.holds.locksOf(key)) > 0
	}
	_, is := o.locks[key]
	return is
}

func (o *owners) Keys() []string { return slices.Sorted(maps.Keys(o.locks)) }

// asReader is the identity of a reader with a stored value, which a writer may have, too.
func asReader(identity string) string { return identity + readerMark }

const readerMark = " (reader)"

// began records that the owner of a thread starts its work in a session. It may have
// another name as a reader.
func (o *owners) began(owner, reader string, s locks.Session, thread string) {
	identity, name := s.Identity(thread), ""
	if namer, ok := s.(interface{ OwnerName(thread string) string }); ok {
		name = namer.OwnerName(thread)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if identity != "" {
		o.name[identity], o.told[identity] = owner, true
		o.name[asReader(identity)], o.told[asReader(identity)] = reader, true
	}
	if name != "" {
		o.named[name] = owner
	}
}

// noteStored records that a client has stored an identity. The caller holds mu.
func (o *owners) noteStored(identity string, by stored) {
	if by.owner != "" && !o.told[identity] && !o.told[numbered(identity)] {
		o.called[calledBy{by.lock, identity}] = by.owner
		return
	}
	if _, known := o.unresolved[identity]; known || o.called[calledBy{by.lock, identity}] != "" || by.client == "" || o.told[identity] || o.told[numbered(identity)] {
		return
	}
	o.unresolved[identity] = by
}

// nameOf is the owner of an identity of a lock, or the identity if its owner is unknown.
// The caller holds mu.
func (o *owners) nameOf(lock, identity string) string {
	if name, ok := o.name[identity]; ok {
		return name
	}
	return cmp.Or(o.called[calledBy{lock, identity}], o.name[numbered(identity)], identity)
}

// ownerOf is the owner that a lock names by a stored value, or by the name of the owner.
func (o *owners) ownerOf(lock, value string) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return cmp.Or(o.named[value], o.nameOf(lock, value))
}

// numbered is the declared part of an identity that ends with a number: everything
// up to its last two colons. A reader's stays a reader's. It is "" for any other identity.
func numbered(identity string) string {
	i := strings.LastIndex(identity, "::")
	if i < 0 {
		return ""
	}
	if strings.HasSuffix(identity, readerMark) {
		return asReader(identity[:i+2])
	}
	return identity[:i+2]
}

// Beside notes a change of a key that belongs to no lock.
func (o *owners) Beside(c keyspace.Change) {
	if c.Cause != "command" || c.By == "" || !c.After.Exists() {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.elsewhere[c.Key] = true
}

// Elsewhere returns the keys that clients wrote, if they never wrote that of a lock.
func (o *owners) Elsewhere() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.watched {
		return nil
	}
	return slices.Sorted(maps.Keys(o.elsewhere))
}

// ServerEvents converts a change of a lock key to server events.
func (o *owners) ServerEvents(c keyspace.Change) []history.Event {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.watched = true
	if o.holds != nil {
		return o.readEvents(c)
	}
	s := &history.ServerEvent{Node: c.Node, Role: c.Role, Key: c.Key, Cause: c.Cause, Command: c.Command, By: c.By}
	before, wasCount, _ := o.how.Of(c.Before)
	after, count, clear := o.how.Of(c.After)
	if !clear && c.After.Exists() {
		s.Holds = c.After.Type + ": " + c.After.String()
		o.unclear = cmp.Or(o.unclear, c.After.Type)
	}
	lock := o.locks[c.Key]
	for _, identity := range newcomers(c, before, after) {
		o.noteStored(identity, storedBy(c, lock))
	}
	s.Holder, s.Count = o.nameOf(lock, after), count
	s.WasHolder, s.WasCount = o.nameOf(lock, before), wasCount
	s.TTL, s.WasTTL = ttl(c.After, c.Now), ttl(c.Before, c.Now)
	return []history.Event{{Kind: history.Server, Lock: lock, Server: s}}
}

// storedBy is the client whose command made a change. A late request belongs to the owner
// that sent it, not to the one that works now.
func storedBy(c keyspace.Change, lock string) stored {
	switch {
	case !c.Sent.IsZero():
		return stored{c.By, lock, c.Sent, true, c.Owner}
	case c.At.IsZero():
		return stored{c.By, lock, time.Now(), false, c.Owner}
	}
	return stored{c.By, lock, c.At, false, c.Owner}
}

// newcomers are the identities that a change has stored. In a queue they are those
// of waiters, because the next holder was there before.
func newcomers(c keyspace.Change, before, after string) []string {
	if c.After.Items != nil {
		before := make(map[string]bool, len(c.Before.Items)) // a queue may be long
		for _, x := range c.Before.Items {
			before[x] = true
		}
		return slices.DeleteFunc(slices.Clone(c.After.Items), func(x string) bool { return before[x] })
	}
	if after == "" || after == before {
		return nil
	}
	return []string{after}
}

// unseen returns the reason why the servers do not show the holder, or "".
func (o *owners) unseen() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.holds != nil:
		return ""
	case o.several:
		return "the lock lets in several owners, and has no Holders to read them from its keys"
	case o.how == locks.HolderNone:
		return "the lock declares that its key does not tell who holds it"
	case o.unclear == "":
		return ""
	case o.how == locks.HolderValue:
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
