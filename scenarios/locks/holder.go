package locks

import (
	"maps"
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/internal/redis/keyspace"
)

// Holder declares how the key of a lock shows its holder. Every kind has at most
// one holder, and the key's time to live is the rest of its lease. A lock that
// stores either of them otherwise has [HolderNone].
type Holder string

// The kinds of Holder.
const (
	// HolderValue: the key is a string that stands for the owner, or a hash of
	// owners and their counts.
	HolderValue  Holder = ""
	holderFirst  Holder = "first"  // of a list, its first element
	holderLast   Holder = "last"   // of a list, its last element
	holderLowest Holder = "lowest" // of a sorted set, the member with the lowest score
	holderMember Holder = "member" // of a set, its only member
	// HolderNone: the key does not show the holder. The verdicts depend on the
	// clients alone.
	HolderNone Holder = "none"
)

func (h Holder) known() bool {
	return slices.Contains([]Holder{HolderValue, holderFirst, holderLast, holderLowest, holderMember, HolderNone}, h)
}

// Of reads the holder of a lock and its hold count from the value of the key: "" and 0
// without a holder. clear is false if the value does not show the holder in this way.
func (h Holder) Of(v keyspace.Value) (identity string, count int, clear bool) {
	if !v.Exists() {
		return "", 0, h != HolderNone
	}
	switch {
	case h == HolderValue && v.Type == "string":
		return v.Str, 1, true
	case h == HolderValue && v.Type == "hash":
		return holderOfHash(v.Hash)
	case h == holderFirst && v.Type == "list", h == holderLowest && v.Type == "zset",
		h == holderMember && v.Type == "set" && len(v.Items) == 1:
		return v.Items[0], 1, true
	case h == holderLast && v.Type == "list":
		return v.Items[len(v.Items)-1], 1, true
	}
	return "", 0, false
}

// holderOfHash reads a count per identity. A lock has one holder, and its other fields do
// not count holds. clear is false if no field does.
func holderOfHash(fields map[string]string) (identity string, count int, clear bool) {
	for _, identity := range slices.Sorted(maps.Keys(fields)) {
		if n, ok := holdCount(fields[identity]); ok && strings.Contains(identity, ":") {
			return identity, n, true
		}
	}
	return "", 0, false
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

// Holder declares how the key of the lock shows its holder.
func (s *Lock) Holder() Holder {
	d := s.description()
	return d.Shown()
}

// Shown is the Holder by which the key is read: [HolderNone] for a lock with several.
func (d *Description) Shown() Holder {
	if d.Claims.Capacity() > 1 {
		return HolderNone
	}
	return d.Holder
}
