package conform

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/redis/keyspace"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// kept is the lock's key on a server.
type kept struct {
	node string
	kind string            // as TYPE says
	text string            // of a string
	hash map[string]string // of a hash
	list []string          // of a list, a set or a sorted set
	ttl  time.Duration     // 0 for ever
}

// copies are the lock's key, on all servers that have it.
func (t *trial) copies() []kept {
	var all []kept
	for _, node := range t.world.Nodes() {
		k, err := t.read(node, t.lock.KeyOf(t.name))
		if err != nil {
			panic(defect{fmt.Errorf("look at %s: %w", node, err)})
		}
		if k.kind != "none" {
			all = append(all, k)
		}
	}
	return all
}

func (t *trial) read(node, key string) (kept, error) {
	k := kept{node: node}
	c, err := t.world.Admin(node)
	if err != nil {
		return k, err
	}
	if k.kind, err = c.Type(t.ctx, key).Result(); err != nil {
		return k, err
	}
	switch k.kind {
	case "string":
		k.text, err = c.Get(t.ctx, key).Result()
	case "hash":
		k.hash, err = c.HGetAll(t.ctx, key).Result()
	case "list":
		k.list, err = c.LRange(t.ctx, key, 0, -1).Result()
	case "set":
		k.list, err = c.SMembers(t.ctx, key).Result()
	case "zset":
		k.list, err = c.ZRange(t.ctx, key, 0, -1).Result()
	}
	ttl, ttlErr := c.PTTL(t.ctx, key).Result()
	k.ttl = max(ttl, 0)
	if err == redis.Nil || ttlErr == nil && ttl == vanished { // between two of these commands
		return kept{node: node, kind: "none"}, nil
	}
	return k, errors.Join(err, ttlErr)
}

// vanished is the reply of PTTL for a missing key.
const vanished = -2

func tryKey(t *trial) {
	p := t.first()
	t.take(p, "1", nil)
	key := t.lock.KeyOf(t.name)
	copies := t.copies()
	if len(copies) < t.lock.Needs() && t.lock.Holder != locks.HolderNone {
		t.fail("the lock is held, and %d of %d servers have the key %q; they have%s", len(copies), t.lock.Groups(), key, t.names())
	}
	identity := t.ask(p, message{"do": "identity", "thread": "1"}).Identity
	for _, k := range copies {
		if wrong := k.unreadable(t.lock.Holder, identity); wrong != "" {
			t.fail("the key %q on %s %s", key, k.node, wrong)
		}
	}
	t.giveBack(p, "1")
	if !t.lock.MayStay(t.name, key) {
		t.eventually(t.opts.Patience, fmt.Sprintf("the lock was given back, and its key %q is still there", key), func() bool { return len(t.copies()) == 0 })
	}
}

// unreadable returns the reason why a key does not show the holder of the lock, or "" if
// it does. identity is the value that the adapter says it stores, or "".
func (k kept) unreadable(how locks.Holder, identity string) string {
	switch {
	case how == locks.HolderNone:
		return ""
	case how != locks.HolderValue:
		holder, _, clear := how.Of(keyspace.Value{Type: k.kind, Items: k.list})
		if !clear {
			return fmt.Sprintf("is a %s, and the lock declares its holder as %q", k.kind, how)
		}
		if identity != "" && holder != identity {
			return fmt.Sprintf("tells of %q, and the holder says that its identity is %q", holder, identity)
		}
		return ""
	}
	switch k.kind {
	case "string":
		if identity != "" && k.text != identity {
			return fmt.Sprintf("holds %q, and the holder says that its identity is %q", k.text, identity)
		}
		return ""
	case "hash":
		if _, ok := k.hash[identity]; identity != "" && !ok {
			return fmt.Sprintf("holds %v, and the holder says that its identity is %q", k.hash, identity)
		}
		for field := range k.hash {
			if strings.Contains(field, ":") {
				return ""
			}
		}
		return fmt.Sprintf("is a hash in which no field has a colon, as those of owners have: %v", k.hash)
	}
	return fmt.Sprintf("is a %s, neither a string nor a hash, and the lock declares no \"holder\"", k.kind)
}

// names are those of all keys on the servers, for words.
func (t *trial) names() string {
	keys, err := t.world.Keys(t.ctx)
	if err != nil {
		panic(defect{err})
	}
	text := ""
	for _, k := range keys {
		text += fmt.Sprintf(" %q", k.Name)
	}
	if text == "" {
		return " none"
	}
	return text
}
