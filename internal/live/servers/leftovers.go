package servers

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Key is a key of a server. TTL is its remaining time to live, 0 for one that
// never expires.
type Key struct {
	Node, Name string
	TTL        time.Duration
}

// Keys lists the keys of the live primaries, in order, without expired ones.
func (s *Servers) Keys(ctx context.Context) ([]Key, error) {
	var keys []Key
	for g := 1; g <= s.opts.Groups; g++ {
		srv := s.byName[s.Primary(g)]
		if !srv.up() {
			continue
		}
		own, err := srv.keys(ctx)
		if err != nil {
			return nil, srv.wrong(fmt.Errorf("list its keys: %w", err))
		}
		keys = append(keys, own...)
	}
	return keys, nil
}

func (srv *Server) keys(ctx context.Context) ([]Key, error) {
	if srv.world.bundled() != nil {
		return srv.keysBundled(ctx)
	}
	if srv.external != nil {
		return srv.existing(ctx, srv.externalKeys())
	}
	var names []string
	scan := srv.Client().Scan(ctx, 0, "*", 1000).Iterator()
	for scan.Next(ctx) {
		names = append(names, scan.Val())
	}
	if err := scan.Err(); err != nil {
		return nil, err
	}
	return srv.existing(ctx, names)
}

// existing are those of the names that are keys of the server.
func (srv *Server) existing(ctx context.Context, names []string) ([]Key, error) {
	slices.Sort(names)
	var keys []Key
	for _, name := range slices.Compact(names) {
		ttl, err := srv.Client().PTTL(ctx, name).Result()
		if redis.HasErrorPrefix(err, "MOVED") || redis.HasErrorPrefix(err, "ASK") { // the key belongs to another node
			continue
		}
		if err != nil {
			return nil, err
		}
		if ttl != -2 { // it has not gone meanwhile
			keys = append(keys, Key{Node: srv.Name, Name: name, TTL: max(ttl, 0)})
		}
	}
	return keys, nil
}

// Subscriptions counts the channels and patterns with a subscriber on the live
// nodes, without those of Sentinels and observers.
func (s *Servers) Subscriptions(ctx context.Context) (int, error) {
	total := 0
	for _, srv := range s.order {
		if srv.sentinel || !srv.up() || s.bundled() != nil {
			continue
		}
		count := srv.subscriptions
		if srv.external != nil { // others subscribe as well
			count = srv.clientSubscriptions
		}
		n, err := count(ctx)
		if err != nil {
			return 0, srv.wrong(fmt.Errorf("count its subscriptions: %w", err))
		}
		total += n
	}
	return total, nil
}

func (srv *Server) subscriptions(ctx context.Context) (int, error) {
	c := srv.Client()
	channels, err := c.PubSubChannels(ctx, "*").Result()
	if err != nil {
		return 0, err
	}
	patterns, err := c.PubSubNumPat(ctx).Result()
	if err != nil {
		return 0, err
	}
	sharded, err := c.PubSubShardChannels(ctx, "*").Result()
	if err != nil && !strings.Contains(strings.ToLower(err.Error()), "unknown subcommand") { // Redis 6.2 and miniredis have none
		return 0, err
	}
	if o := srv.observing(); o != nil {
		patterns -= int64(o.Patterns())
	}
	channels = slices.DeleteFunc(channels, func(c string) bool { return strings.HasPrefix(c, "__sentinel__:") })
	return len(channels) + len(sharded) + int(patterns), nil
}

// ClientConnections counts the open connections between clients and servers. Those
// of a killed process end with it.
func (s *Servers) ClientConnections() int {
	total := 0
	for id, l := range s.links {
		if s.clients[id.From] != nil {
			total += l.Connections()
		}
	}
	return total
}
