package gallery

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// owners are the mistakes about whose lock it is.
var owners = openings{
	"set-without-nx": owned(func(s *small) {
		s.take = func(ctx context.Context, s *small, lease time.Duration) (bool, error) {
			return isOK(s.rdb.Do(ctx, "set", s.name, s.owner, "px", lease.Milliseconds()))
		}
	}),
	"expiry-set-after": owned(func(s *small) {
		s.take = func(ctx context.Context, s *small, lease time.Duration) (bool, error) {
			if ok, err := isOK(s.rdb.Do(ctx, "set", s.name, s.owner, "nx")); !ok || err != nil {
				return false, err
			}
			return true, s.rdb.PExpire(ctx, s.name, lease).Err()
		}
	}),
	"transaction-without-watch": owned(func(s *small) {
		s.give = func(ctx context.Context, s *small) (bool, error) {
			holder, err := s.rdb.Get(ctx, s.name).Result()
			if errors.Is(err, redis.Nil) || err == nil && holder != s.owner {
				return false, nil
			}
			if err != nil {
				return false, err
			}
			cmds, err := s.rdb.TxPipelined(ctx, func(p redis.Pipeliner) error { return p.Del(ctx, s.name).Err() })
			return err == nil && cmds[0].(*redis.IntCmd).Val() == 1, err
		}
	}),
}
