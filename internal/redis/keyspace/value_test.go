package keyspace_test

import (
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/internal/redis/keyspace"
)

// A value that is read from one server and written to another is the same there, of every
// type. It is not the same as any other.
func TestAValueOfEveryTypeSurvivesACopy(t *testing.T) {
	now := time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)
	start := func() *miniredis.Miniredis {
		mr := miniredis.NewMiniRedis()
		c, err := mr.Dial()
		must.Succeed(t, err)
		c.Close()
		t.Cleanup(mr.Close)
		mr.SetTime(now)
		return mr
	}
	values := []keyspace.Value{
		{Type: "string", Str: "a\x00\xff"}, {Type: "hash", Hash: map[string]string{"f": "a"}},
		{Type: "list", Items: []string{"b", "a", "b"}}, {Type: "list", Items: []string{"a", "b", "b"}},
		{Type: "set", Items: []string{"a", "b"}},
		{Type: "zset", Items: []string{"b", "a"}, Scores: []string{"-Inf", "0.1"}}, {Type: "zset", Items: []string{"b", "a"}, Scores: []string{"-Inf", "0.2"}},
		{Type: "zset", Items: []string{"a"}, Scores: []string{"1.700000000000001e+15"}},
		{Type: "stream", Entries: []keyspace.Entry{{ID: "1-1", Fields: []string{"f", "a"}}, {ID: "2-0", Fields: []string{"f", "a"}}}},
		{Type: "stream", Entries: []keyspace.Entry{{ID: "1-1", Fields: []string{"f", "b"}}}}, {Type: "stream"},
		{Type: "list", Items: []string{"a"}, ExpireAt: now.Add(time.Minute)},
		{},
	}
	for i, v := range values {
		mr := start()
		must.Succeed(t, keyspace.Write(mr, "k", v, now))
		got, err := keyspace.Read(mr, "k", now)
		must.Succeed(t, err)
		for j, w := range values {
			if got.Equal(w) != (i == j) {
				t.Errorf("%+v was written and %+v read, which equals %+v: %v", v, got, w, got.Equal(w))
			}
		}
	}
}
