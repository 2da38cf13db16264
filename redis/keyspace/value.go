package keyspace

import (
	"fmt"
	"maps"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// Value is what a key holds. Strings and hashes are all that locks use; a
// world refuses to follow a key of another type rather than to lose it
// silently.
type Value struct {
	Type     string            `json:"type"` // "string" or "hash"; "" for no value
	Str      string            `json:"str,omitempty"`
	Hash     map[string]string `json:"hash,omitempty"`
	ExpireAt time.Time         `json:"expire_at,omitzero"` // on the server's clock; zero for never
}

// Exists reports whether there is a value.
func (v Value) Exists() bool { return v.Type != "" }

// Equal reports whether v and w are the same, the moment of expiry included.
func (v Value) Equal(w Value) bool {
	return v.Type == w.Type && v.Str == w.Str && v.ExpireAt.Equal(w.ExpireAt) && maps.Equal(v.Hash, w.Hash)
}

// Read reads a key from a server whose clock shows now. A key that does not
// exist is no error: it reads as no value. A key that is neither a string nor
// a hash is an error.
func Read(mr *miniredis.Miniredis, key string, now time.Time) (Value, error) {
	v := Value{Type: mr.Type(key)}
	switch v.Type {
	case "":
		return v, nil
	case "string":
		s, err := mr.Get(key)
		if err != nil {
			return v, fmt.Errorf("read key %q: %w", key, err)
		}
		v.Str = s
	case "hash":
		fields, err := mr.HKeys(key)
		if err != nil {
			return v, fmt.Errorf("read key %q: %w", key, err)
		}
		v.Hash = make(map[string]string, len(fields))
		for _, f := range fields {
			v.Hash[f] = mr.HGet(key, f)
		}
	default:
		return v, fmt.Errorf("read key %q: cannot follow a %s, only strings and hashes", key, v.Type)
	}
	if ttl := mr.TTL(key); ttl > 0 {
		v.ExpireAt = now.Add(ttl)
	}
	return v, nil
}

// Write makes a key on a server whose clock shows now hold v, or nothing when
// v does not exist or has run out by now.
func Write(mr *miniredis.Miniredis, key string, v Value, now time.Time) error {
	mr.Del(key)
	ttl := time.Duration(0)
	if !v.ExpireAt.IsZero() {
		if ttl = v.ExpireAt.Sub(now); ttl <= 0 {
			return nil
		}
	}
	switch v.Type {
	case "":
		return nil
	case "string":
		if err := mr.Set(key, v.Str); err != nil {
			return fmt.Errorf("write key %q: %w", key, err)
		}
	case "hash":
		for f, x := range v.Hash { // order does not matter in a hash
			mr.HSet(key, f, x)
		}
	}
	if ttl > 0 {
		mr.SetTTL(key, ttl)
	}
	return nil
}
