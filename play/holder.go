package play

import (
	"strings"

	"github.com/holdfast-go/holdfast/redis/keyspace"
	"github.com/holdfast-go/holdfast/subject"
)

// HolderOf reads who holds a lock, and how often, from what its key holds: ""
// and 0 for nobody. clear is false where the lock declares that its key tells
// it in another way, or not at all.
func HolderOf(v keyspace.Value, how subject.Holder) (identity string, count int, clear bool) {
	if !v.Exists() {
		return "", 0, how != subject.HolderNone
	}
	switch {
	case how == subject.HolderValue && v.Type == "string":
		return v.Str, 1, true
	case how == subject.HolderValue && v.Type == "hash":
		identity, count = holderOfHash(v.Hash)
		return identity, count, true
	case how == subject.HolderFirst && v.Type == "list", how == subject.HolderLowest && v.Type == "zset",
		how == subject.HolderMember && v.Type == "set" && len(v.Items) == 1:
		return v.Items[0], 1, true
	case how == subject.HolderLast && v.Type == "list":
		return v.Items[len(v.Items)-1], 1, true
	}
	return "", 0, false
}

// holderOfHash reads a count per identity.
func holderOfHash(fields map[string]string) (identity string, count int) {
	for identity, count := range fields { // a lock has one holder; other fields do not count holds
		if n, ok := holdCount(count); ok && strings.Contains(identity, ":") {
			return identity, n
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
