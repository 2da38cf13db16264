package live

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/redis/keyspace"
)

// ReadKey reads a key of any type. The value of a missing key does not exist.
func ReadKey(ctx context.Context, c *redis.Client, key string) (keyspace.Value, error) {
	p := c.Pipeline()
	r := ask(ctx, p, key)
	_, _ = p.Exec(ctx) // its error is that of any command, and most fail
	return r.value()
}

// read is the answer to all queries about a key of unknown type; most of them
// fail.
type read struct {
	kind   *redis.StatusCmd
	str    *redis.StringCmd
	hash   *redis.MapStringStringCmd
	list   *redis.StringSliceCmd
	set    *redis.StringSliceCmd
	zset   *redis.ZSliceCmd
	stream *redis.Cmd         // whose fields keep their order
	until  *redis.DurationCmd // since 1970; an error before Redis 7.0
	left   *redis.DurationCmd // from now on
	now    *redis.TimeCmd
}

// ask asks for a key in every way that a type of key needs.
func ask(ctx context.Context, p redis.Pipeliner, key string) read {
	return read{
		kind: p.Type(ctx, key), str: p.Get(ctx, key), hash: p.HGetAll(ctx, key), list: p.LRange(ctx, key, 0, -1),
		set: p.SMembers(ctx, key), zset: p.ZRangeWithScores(ctx, key, 0, -1), stream: p.Do(ctx, "xrange", key, "-", "+"),
		until: p.PExpireTime(ctx, key), left: p.PTTL(ctx, key), now: p.Time(ctx),
	}
}

// expiry is when the key ends by itself, to the millisecond; zero for never.
func (r read) expiry() (end time.Time, err error) {
	if err = r.until.Err(); err == nil && r.until.Val() > 0 {
		return time.UnixMilli(int64(r.until.Val() / time.Millisecond)), nil
	}
	if err != nil && strings.Contains(err.Error(), "unknown command") {
		if err = errors.Join(r.left.Err(), r.now.Err()); r.left.Val() > 0 {
			end = r.now.Val().Add(r.left.Val()).Truncate(time.Millisecond)
		}
	}
	return end, err
}

func (r read) value() (v keyspace.Value, err error) {
	v = keyspace.Value{Type: r.kind.Val()}
	end, unknown := r.expiry()
	switch v.Type {
	case "string":
		v.Str, err = r.str.Result()
	case "hash":
		v.Hash, err = r.hash.Result()
	case "list":
		v.Items, err = r.list.Result()
	case "set":
		v.Items, err = r.set.Result()
		slices.Sort(v.Items)
	case "zset":
		err = r.zset.Err()
		for _, z := range r.zset.Val() {
			v.Items, v.Scores = append(v.Items, fmt.Sprint(z.Member)), append(v.Scores, keyspace.FormatScore(z.Score))
		}
	case "stream":
		v.Entries, err = entries(r.stream)
	case "none", "":
		return keyspace.Value{}, errors.Join(r.kind.Err(), unknown)
	default:
		err = fmt.Errorf("cannot follow a key of the type %s", v.Type)
	}
	if err == nil {
		v.ExpireAt = end
	}
	collection := v.Type != "string" && v.Type != "stream"
	if errors.Is(err, redis.Nil) || err == nil && collection && len(v.Hash)+len(v.Items) == 0 {
		return keyspace.Value{}, nil // gone since it was asked for its type
	}
	return v, errors.Join(err, unknown)
}

func entries(c *redis.Cmd) ([]keyspace.Entry, error) {
	all, err := c.Slice()
	if err != nil {
		return nil, err
	}
	var list []keyspace.Entry
	for _, x := range all {
		pair, ok := x.([]any)
		if !ok || len(pair) != 2 {
			return nil, fmt.Errorf("read a stream: %v is no entry", x)
		}
		e := keyspace.Entry{ID: fmt.Sprint(pair[0])}
		fields, _ := pair[1].([]any)
		for _, f := range fields {
			e.Fields = append(e.Fields, fmt.Sprint(f))
		}
		list = append(list, e)
	}
	return list, nil
}
