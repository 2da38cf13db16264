package live

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Keys lists what the primaries that are up hold now, as "node key", in order.
// Keys that have expired do not count.
func (s *Servers) Keys(ctx context.Context) ([]string, error) {
	var keys []string
	for g := 1; g <= s.opts.Groups; g++ {
		srv := s.byName[s.Primary(g)]
		if !srv.up() {
			continue
		}
		var own []string
		for scan := srv.client().Scan(ctx, 0, "*", 1000).Iterator(); ; {
			if !scan.Next(ctx) {
				if err := scan.Err(); err != nil {
					return nil, srv.wrong(fmt.Errorf("list its keys: %w", err))
				}
				break
			}
			own = append(own, srv.name+" "+scan.Val())
		}
		slices.Sort(own)
		keys = append(keys, slices.Compact(own)...)
	}
	return keys, nil
}

// Subscriptions counts the channels and patterns that somebody is subscribed
// to on a node that is up, besides the Sentinels and whoever observes.
func (s *Servers) Subscriptions(ctx context.Context) (int, error) {
	total := 0
	for _, srv := range s.order {
		if srv.sentinel || !srv.up() {
			continue
		}
		n, err := srv.subscriptions(ctx)
		if err != nil {
			return 0, srv.wrong(fmt.Errorf("count its subscriptions: %w", err))
		}
		total += n
	}
	return total, nil
}

func (srv *server) subscriptions(ctx context.Context) (int, error) {
	c := srv.client()
	channels, err := c.PubSubChannels(ctx, "*").Result()
	if err != nil {
		return 0, err
	}
	patterns, err := c.PubSubNumPat(ctx).Result()
	if err != nil {
		return 0, err
	}
	sharded, err := c.PubSubShardChannels(ctx, "*").Result()
	if redis.HasErrorPrefix(err, "ERR unknown subcommand") { // before Redis 7
		err = nil
	}
	if err != nil {
		return 0, err
	}
	if o := srv.observing(); o != nil && o.watching() {
		patterns--
	}
	channels = slices.DeleteFunc(channels, func(c string) bool { return strings.HasPrefix(c, "__sentinel__:") })
	return len(channels) + len(sharded) + int(patterns), nil
}

// ClientConnections counts the connections that are open between clients and
// servers. Those of a process that was killed end with it.
func (s *Servers) ClientConnections() int {
	total := 0
	for id, l := range s.links {
		if s.clients[id.From] != nil {
			total += l.connections()
		}
	}
	return total
}
