package conform

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/internal/live"
	"github.com/holdfast-go/holdfast/internal/redis/keyspace"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

type kept struct {
	node string
	keyspace.Value
}

// left is the time that the key has left to live, 0 for ever.
func (k kept) left() time.Duration {
	if k.ExpireAt.IsZero() {
		return 0
	}
	return time.Until(k.ExpireAt)
}

// copies are the lock's key, on all servers that have it.
func (t *trial) copies() []kept {
	var all []kept
	for _, node := range t.world.Nodes() {
		c, err := t.world.Admin(node)
		var v keyspace.Value
		if err == nil {
			v, err = live.ReadKey(t.ctx, c, t.lock.KeyOf(t.name))
		}
		if err != nil {
			panic(defect{fmt.Errorf("look at %s: %w", node, err)})
		}
		if v.Exists() {
			all = append(all, kept{node, v})
		}
	}
	return all
}

func tryKey(t *trial) {
	p := t.first()
	t.take(p, "1", nil)
	key := t.lock.KeyOf(t.name)
	copies := t.copies()
	if len(copies) < t.lock.Needs() && t.lock.Shown() != locks.HolderNone {
		t.fail("the lock is held, and %d of %d servers have the key %q; they have%s", len(copies), t.lock.Groups(), key, t.names())
	}
	identity := t.ask(p, message{"do": "identity", "thread": "1"}).Identity
	for _, k := range copies {
		if wrong := k.unreadable(t.lock.Shown(), identity); wrong != "" {
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
		holder, _, clear := how.Of(k.Value)
		if !clear {
			return fmt.Sprintf("is a %s, and the lock declares its holder as %q", k.Type, how)
		}
		if identity != "" && holder != identity {
			return fmt.Sprintf("tells of %q, and the holder says that its identity is %q", holder, identity)
		}
		return ""
	}
	switch k.Type {
	case "string":
		if identity != "" && k.Str != identity {
			return fmt.Sprintf("holds %q, and the holder says that its identity is %q", k.Str, identity)
		}
		return ""
	case "hash":
		if _, ok := k.Hash[identity]; identity != "" && !ok {
			return fmt.Sprintf("holds %v, and the holder says that its identity is %q", k.Hash, identity)
		}
		for field := range k.Hash {
			if strings.Contains(field, ":") {
				return ""
			}
		}
		return fmt.Sprintf("is a hash in which no field has a colon, as those of owners have: %v", k.Hash)
	}
	return fmt.Sprintf("is a %s, neither a string nor a hash, and the lock declares no \"holder\"", k.Type)
}

func (t *trial) names() string {
	text := ""
	for _, k := range got(t.world.Keys(t.ctx)) {
		text += fmt.Sprintf(" %q", k.Name)
	}
	return cmp.Or(text, " none")
}
