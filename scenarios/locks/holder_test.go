package locks

import (
	"testing"

	"github.com/holdfast-go/holdfast/internal/redis/keyspace"
)

// Whose hold it is follows from what the lock declares; what it does not
// declare is not guessed.
func TestTheHolderIsReadAsDeclared(t *testing.T) {
	var (
		text   = keyspace.Value{Type: "string", Str: "a"}
		hash   = keyspace.Value{Type: "hash", Hash: map[string]string{"a:1": "2", "mode": "x"}}
		fields = keyspace.Value{Type: "hash", Hash: map[string]string{"owner": "a:1", "until": "12"}}
		list   = keyspace.Value{Type: "list", Items: []string{"a", "b"}}
		set    = keyspace.Value{Type: "set", Items: []string{"a"}}
		pair   = keyspace.Value{Type: "set", Items: []string{"a", "b"}}
		queue  = keyspace.Value{Type: "zset", Items: []string{"a", "b"}, Scores: []string{"1", "2"}}
		stream = keyspace.Value{Type: "stream"}
	)
	for _, tt := range []struct {
		how    Holder
		v      keyspace.Value
		holder string
		count  int
		clear  bool
	}{
		{HolderValue, keyspace.Value{}, "", 0, true}, {HolderValue, text, "a", 1, true}, {HolderValue, hash, "a:1", 2, true},
		{HolderValue, fields, "", 0, false}, {HolderValue, list, "", 0, false}, {HolderValue, stream, "", 0, false},
		{holderFirst, list, "a", 1, true}, {holderLast, list, "b", 1, true}, {holderFirst, text, "", 0, false},
		{holderLowest, queue, "a", 1, true}, {holderLowest, set, "", 0, false}, {holderLowest, keyspace.Value{}, "", 0, true},
		{holderMember, set, "a", 1, true}, {holderMember, pair, "", 0, false},
		{HolderNone, text, "", 0, false}, {HolderNone, keyspace.Value{}, "", 0, false},
	} {
		if holder, count, clear := tt.how.Of(tt.v); holder != tt.holder || count != tt.count || clear != tt.clear {
			t.Errorf("declared %q, of a %s: %q, %d, %v, want %q, %d, %v", tt.how, tt.v.Type, holder, count, clear, tt.holder, tt.count, tt.clear)
		}
	}
}
