package keyspace

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// Value is the value of a key. A world refuses to follow a key of another type rather
// than to lose it silently.
type Value struct {
	Type string            `json:"type"` // "string", "hash", "list", "set", "zset" or "stream"; "" for no value
	Str  string            `json:"str,omitempty"`
	Hash map[string]string `json:"hash,omitempty"`
	// Items are the elements of a list, first to last; the members of a set, in
	// the order of their bytes; those of a sorted set, lowest first.
	Items    []string  `json:"items,omitempty"`
	Scores   []string  `json:"scores,omitempty"` // of a sorted set, one for each of Items
	Entries  []Entry   `json:"entries,omitempty"`
	ExpireAt time.Time `json:"expire_at,omitzero"` // on the server's clock; zero for never
}

type Entry struct {
	ID     string   `json:"id"`
	Fields []string `json:"fields"` // names and values in turn
}

func (e Entry) equal(o Entry) bool { return e.ID == o.ID && slices.Equal(e.Fields, o.Fields) }

func (v Value) Exists() bool { return v.Type != "" }

// Equal reports whether v and w are the same, the moment of expiry included.
func (v Value) Equal(w Value) bool {
	return v.Type == w.Type && v.Str == w.Str && v.ExpireAt.Equal(w.ExpireAt) && maps.Equal(v.Hash, w.Hash) &&
		slices.Equal(v.Items, w.Items) && slices.Equal(v.Scores, w.Scores) && slices.EqualFunc(v.Entries, w.Entries, Entry.equal)
}

// String is the value of the key, in a line for people; "" for no value.
func (v Value) String() string {
	var words []string
	switch v.Type {
	case "string":
		words = []string{v.Str}
	case "hash":
		for _, f := range slices.Sorted(maps.Keys(v.Hash)) {
			words = append(words, f+": "+v.Hash[f])
		}
	case "zset":
		for i, m := range v.Items {
			words = append(words, m+": "+v.Scores[i])
		}
	case "stream":
		for _, e := range v.Entries {
			words = append(words, e.ID+": "+strings.Join(e.Fields, " "))
		}
	default:
		words = v.Items
	}
	return strings.Join(words, ", ")
}

// Read reads a key from a server whose clock shows now. A key that does not
// exist is no error: it reads as no value. A key of a type that Value does not
// have is an error.
func Read(mr *miniredis.Miniredis, key string, now time.Time) (Value, error) {
	v := Value{Type: mr.Type(key)}
	if !v.Exists() {
		return v, nil
	}
	if err := v.read(mr, key); err != nil {
		return v, fmt.Errorf("read key %q: %w", key, err)
	}
	if ttl := mr.TTL(key); ttl > 0 {
		v.ExpireAt = now.Add(ttl)
	}
	return v, nil
}

func (v *Value) read(mr *miniredis.Miniredis, key string) (err error) {
	switch v.Type {
	case "string":
		v.Str, err = mr.Get(key)
	case "hash":
		var fields []string
		fields, err = mr.HKeys(key)
		v.Hash = make(map[string]string, len(fields))
		for _, f := range fields {
			v.Hash[f] = mr.HGet(key, f)
		}
	case "list":
		v.Items, err = mr.List(key)
		v.Items = slices.Clone(v.Items) // the server goes on with its own
	case "set":
		v.Items, err = mr.SMembers(key)
		slices.Sort(v.Items)
	case "zset":
		var scores map[string]float64
		scores, err = mr.SortedSet(key)
		v.Items = slices.SortedFunc(maps.Keys(scores), func(a, b string) int {
			return cmp.Or(cmp.Compare(scores[a], scores[b]), strings.Compare(a, b))
		})
		for _, m := range v.Items {
			v.Scores = append(v.Scores, FormatScore(scores[m]))
		}
	case "stream":
		var entries []miniredis.StreamEntry
		entries, err = mr.Stream(key)
		for _, e := range entries {
			v.Entries = append(v.Entries, Entry{e.ID, slices.Clone(e.Values)})
		}
	default:
		err = fmt.Errorf("cannot follow a key of the type %s", v.Type)
	}
	return err
}

// Write sets a key to v on a server whose clock shows now. It deletes the key when v does
// not exist or has run out by now.
func Write(mr *miniredis.Miniredis, key string, v Value, now time.Time) error {
	mr.Del(key)
	ttl := time.Duration(0)
	if !v.ExpireAt.IsZero() {
		if ttl = v.ExpireAt.Sub(now); ttl <= 0 {
			return nil
		}
	}
	if !v.Exists() {
		return nil
	}
	if err := v.write(mr, key); err != nil {
		return fmt.Errorf("write key %q: %w", key, err)
	}
	if ttl > 0 {
		mr.SetTTL(key, ttl)
	}
	return nil
}

func (v Value) write(mr *miniredis.Miniredis, key string) error {
	var err error
	switch v.Type {
	case "string":
		err = mr.Set(key, v.Str)
	case "hash":
		for f, x := range v.Hash { // order does not matter in a hash
			mr.HSet(key, f, x)
		}
	case "list":
		_, err = mr.RPush(key, v.Items...)
	case "set":
		_, err = mr.SAdd(key, v.Items...)
	case "zset":
		for i, m := range v.Items {
			var score float64
			if score, err = parseScore(v.Scores[i]); err == nil {
				_, err = mr.ZAdd(key, score, m)
			}
			if err != nil {
				break
			}
		}
	case "stream":
		err = writeStream(mr, key, v.Entries)
	}
	return err
}
