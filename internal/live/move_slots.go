package live

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/redis/keyspace"
)

// moveMark stands in the transactions that move a key, for the observers.
const moveMark = markPrefix + "move"

// MoveSlots implements [faults.World]. It moves the slots of the lock's own keys, in the
// steps of the documentation of CLUSTER SETSLOT. Observers cannot read the form in which
// MIGRATE sends a key, so it moves keys by ordinary commands.
func (w *World) MoveSlots(from, to string, keysFirst bool) (finish func() error, err error) {
	m := move{ctx: w.Context()}
	var errs [4]error
	m.from, errs[0] = w.Admin(from)
	m.to, errs[1] = w.Admin(to)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	m.fromID, errs[2] = m.from.ClusterMyID(m.ctx).Result()
	m.toID, errs[3] = m.to.ClusterMyID(m.ctx).Result()
	if err := errors.Join(errs[:]...); err != nil {
		return nil, fmt.Errorf("ask %s and %s for their ids: %w", from, to, err)
	}
	if err := m.find(w.keys); err != nil {
		return nil, fmt.Errorf("move slots of %s: %w", from, err)
	}
	begin := []func() error{
		func() error { return m.set(m.to, "importing", m.fromID) },
		func() error { return m.set(m.from, "migrating", m.toID) },
	}
	if keysFirst {
		begin = append(begin, m.moveKeys)
	}
	return func() error {
		return m.inOrder(m.moveKeys, func() error { return m.set(m.to, "node", m.toID) }, func() error { return m.set(m.from, "node", m.toID) })
	}, m.inOrder(begin...)
}

// move is a move of slots from one node to another.
type move struct {
	ctx          context.Context
	from, to     *redis.Client
	fromID, toID string
	slots        []int
}

// inOrder takes steps up to the first that fails.
func (m *move) inOrder(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return fmt.Errorf("move slots: %w", err)
		}
	}
	return nil
}

// find finds the slots of keys that the first node has.
func (m *move) find(keys []string) error {
	shards, err := m.from.ClusterShards(m.ctx).Result()
	if err != nil {
		return err
	}
	own := slices.IndexFunc(shards, func(s redis.ClusterShard) bool {
		return slices.ContainsFunc(s.Nodes, func(n redis.Node) bool { return n.ID == m.fromID })
	})
	for _, key := range keys {
		slot := keyspace.SlotOf(key)
		if own >= 0 && !slices.Contains(m.slots, slot) && slices.ContainsFunc(shards[own].Slots, func(r redis.SlotRange) bool {
			return r.Start <= int64(slot) && int64(slot) <= r.End
		}) {
			m.slots = append(m.slots, slot)
		}
	}
	if m.slots == nil {
		return errors.New("it has no slot of the lock")
	}
	return nil
}

func (m *move) set(at *redis.Client, state, id string) error {
	for _, slot := range m.slots {
		if err := at.Do(m.ctx, "cluster", "setslot", slot, state, id).Err(); err != nil {
			return err
		}
	}
	return nil
}

// moveKeys moves all keys of the slots. It tries again with a key that has changed.
func (m *move) moveKeys() error {
	for _, slot := range m.slots {
		for {
			keys, err := m.from.ClusterGetKeysInSlot(m.ctx, slot, 100).Result()
			if err != nil {
				return err
			}
			if len(keys) == 0 {
				break
			}
			for _, key := range keys {
				if err := m.moveKey(key); err != nil {
					return fmt.Errorf("move %q: %w", key, err)
				}
			}
		}
	}
	return nil
}

// hasChanged reports whether a key has changed while it moved, or has run out.
func hasChanged(err error) bool {
	return errors.Is(err, redis.TxFailedErr) || redis.HasErrorPrefix(err, "ASK") || redis.HasErrorPrefix(err, "EXECABORT")
}

// moveKey writes a key to the other node and then deletes it, unless it has changed
// meanwhile. It is nowhere else then.
func (m *move) moveKey(key string) error {
	err := m.from.Watch(m.ctx, func(tx *redis.Tx) error {
		p := tx.Pipeline()
		asked := ask(m.ctx, p, key)
		_, _ = p.Exec(m.ctx) // its error is that of any command, and most fail
		v, err := asked.value()
		if err != nil || !v.Exists() {
			return err
		}
		if err := m.put(key, v); err != nil {
			return err
		}
		_, err = tx.TxPipelined(m.ctx, func(p redis.Pipeliner) error {
			p.Echo(m.ctx, moveMark)
			p.Del(m.ctx, key)
			return nil
		})
		return err
	}, key)
	if err != nil && hasChanged(err) {
		return m.put(key, keyspace.Value{})
	}
	return err
}

// put gives a key of the other node a value, or removes it.
func (m *move) put(key string, v keyspace.Value) error {
	c := m.to.Conn()
	defer c.Close()
	if err := c.Do(m.ctx, "asking").Err(); err != nil {
		return err
	}
	_, err := c.TxPipelined(m.ctx, func(p redis.Pipeliner) error {
		p.Echo(m.ctx, moveMark)
		p.Del(m.ctx, key)
		for _, words := range writes(key, v) {
			p.Do(m.ctx, words...)
		}
		if !v.ExpireAt.IsZero() {
			p.PExpireAt(m.ctx, key, v.ExpireAt)
		}
		return nil
	})
	return err
}

// writes are the commands that give a missing key a value.
func writes(key string, v keyspace.Value) (commands [][]any) {
	words := []any{map[string]string{"string": "set", "hash": "hset", "list": "rpush", "set": "sadd", "zset": "zadd"}[v.Type], key}
	switch v.Type {
	case "":
		return nil
	case "string":
		words = append(words, v.Str)
	case "hash":
		for _, f := range slices.Sorted(maps.Keys(v.Hash)) {
			words = append(words, f, v.Hash[f])
		}
	case "stream":
		for _, e := range v.Entries {
			add := []any{"xadd", key, e.ID}
			for _, x := range e.Fields {
				add = append(add, x)
			}
			commands = append(commands, add)
		}
		return commands
	default:
		for i, x := range v.Items {
			if v.Type == "zset" {
				words = append(words, v.Scores[i])
			}
			words = append(words, x)
		}
	}
	return append(commands, words)
}
