package gallery

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// owners are the mistakes about whose lock it is.
func owners() []Mutant {
	const (
		otherHold = "if hold ~= ARGV[4] or tonumber(serial) > tonumber(ARGV[3]) then"
		notOwner  = "redis.pcall('hexists', KEYS[1], ARGV[2]) ~= 1"
		field     = "redis.call('hdel', KEYS[1], ARGV[2])"
		whole     = "redis.call('del', KEYS[1])"
	)
	return []Mutant{
		edited(Mutant{
			Name: "release-by-anyone", Of: "reentrant", Class: 12,
			Mistake: "A release deletes the lock without a look at whose it is.",
			Shipped: "ShedLock by default (safeUpdate=false): a task that overran its lock deleted the next one's",
		}, edit{releaseScript, otherHold, "if not serial then"},
			edit{releaseScript, notOwner, "redis.call('exists', KEYS[1]) == 0"}, edit{releaseScript, field, whole}),
		edited(Mutant{
			Name: "release-of-nothing-succeeds", Of: "reentrant", Class: 12,
			Mistake: "A release by somebody who does not hold the lock changes nothing and reports success.",
			Shipped: "Redisson's RReadWriteLock before 3.44; RLock until 3.10.6 (#2018)",
		}, edit{releaseScript, "return {'none'}", "return {'released', 0}"}),
		edited(Mutant{
			Name: "renewal-by-anyone", Of: "reentrant", Class: 12,
			Mistake: "A renewal prolongs the lock without a look at whose it is.",
			Shipped: "ShedLock by default (SET XX); Redisson's read locks before 4.4 kept the holds of dead instances alive",
		}, edit{renewScript, renewed, "  if serial and redis.call('exists', key) == 1 then"}),
		edited(Mutant{
			Name: "take-back-by-anyone", Of: "reentrant", Class: 12,
			Mistake: "Taking back an acquire of unknown outcome deletes the lock without a look at whose it is.",
			Shipped: "etcd's Unlock without a Lock could delete a key of others (2022)",
		}, edit{cancelScript, "hold and redis.pcall('hexists', KEYS[1], ARGV[2]) == 1", "redis.call('exists', KEYS[1]) == 1"},
			edit{cancelScript, field, whole}),
		owned(Mutant{
			Name: "set-without-nx", Of: "set-px-lua", Class: 12,
			Mistake: "SET PX without NX: whoever comes takes the lock, from whoever has it.",
			Shipped: "Redisson of 2014 overwrote the new owner, between two commands (#84)",
		}, func(s *small) {
			s.take = func(ctx context.Context, s *small, lease time.Duration) (bool, error) {
				return isOK(s.rdb.Do(ctx, "set", s.name, s.owner, "px", lease.Milliseconds()))
			}
		}),
		owned(Mutant{
			Name: "release-compares-prefix", Of: "set-px-lua", Class: 12,
			Mistake: "The release compares the beginning of the stored value only, which all owners have in common.",
			Shipped: "redis-py with decoded replies compared something else than it had stored (#1091)",
		}, func(s *small) {
			s.give = func(ctx context.Context, s *small) (bool, error) {
				return evalTrue(ctx, s, `local held = redis.call('get', KEYS[1])
if held and string.sub(held, 1, 6) == string.sub(ARGV[1], 1, 6) then return redis.call('del', KEYS[1]) end
return 0`, s.owner)
			}
		}),
		owned(Mutant{
			Name: "expiry-set-after", Of: "set-px-lua", Class: 12,
			Mistake: "SET NX, and the expiry as a second command: a client that dies between them leaves a lock without end.",
			Shipped: "Redisson of 2014 (#84), and tutorials to this day",
		}, func(s *small) {
			s.take = func(ctx context.Context, s *small, lease time.Duration) (bool, error) {
				if ok, err := isOK(s.rdb.Do(ctx, "set", s.name, s.owner, "nx")); !ok || err != nil {
					return false, err
				}
				return true, s.rdb.PExpire(ctx, s.name, lease).Err()
			}
		}),
		owned(Mutant{
			Name: "transaction-without-watch", Of: "set-px-watch", Class: 12,
			Mistake: "The look and the DEL are in a MULTI, but the key is not WATCHed: the transaction always runs.",
			Shipped: "a mistake of tutorials on WATCH; Redisson of 2014 looked and acted in two commands (#84)",
		}, func(s *small) {
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
		edited(Mutant{
			Name: "renewal-takes-lock-over", Of: "reentrant", Class: 12,
			Mistake: "A renewal stores the owner whatever is there, and so takes the lock from whoever has it by then.",
			Shipped: "ShedLock's Redis provider by default (safeUpdate=false): extend is SET XX",
		}, edit{renewScript, renewed, "  if redis.call('exists', key) == 1 and redis.call('hexists', key, field) == 0 then\n" +
			"    redis.call('del', key)\n" +
			"    redis.call('hset', key, field, 1)\n" +
			"    redis.call('pexpire', key, lease)\n" +
			"  end\n" + renewed}),
	}
}
