package locktest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/internal/play"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/scenarios"
)

// reportedOfServer is a lock that works on Redis, and was reported on another server. Its
// scripts do what those of the report do.
type reportedOfServer struct {
	server, says  string
	take, release string // with the name of the lock in KEYS[1] and ARGV[1], the owner in ARGV[2]
}

const (
	setKey = "return redis.call('set', KEYS[1], ARGV[2], 'nx', 'px', 10000)"
	delKey = "if redis.call('get', KEYS[1]) == ARGV[2] then return redis.call('del', KEYS[1]) end return 0"
)

var reportsOfServers = map[string]reportedOfServer{
	"node-redlock-74": {"aliyun-cluster", "bad lua script", setKey,
		"for _, key in ipairs(KEYS) do if redis.call('get', key) == ARGV[2] then redis.call('del', key) end end return 1"},
	"DistributedLock-254": {"aliyun-cluster", "bad lua script", setKey,
		"if redis.call('get', ARGV[1]) == ARGV[2] then return redis.call('del', ARGV[1]) end return 0"},
	"dragonfly-272": {"dragonfly", "undeclared key",
		"redis.call('sadd', 'registry:' .. ARGV[1], ARGV[2]) " + setKey,
		"redis.call('del', 'registry:' .. ARGV[1]) " + delKey},
	"spring-integration-10471": {"elasticache-serverless", "non local key", setKey,
		"if redis.call('get', KEYS[1]) == ARGV[2] then redis.call('unlink', KEYS[1]) redis.call('publish', 'unlock-channel', KEYS[1]) return 1 end return 0"},
}

var errTakenThere = errors.New("taken")

func (r reportedOfServer) lock() Lock {
	return Lock{
		Name: "reported-of-server", Claims: Claims{Waits: true, Lease: true}, Busy: errTakenThere, StoresOwner: true, Handoff: 50 * time.Millisecond,
		Keeps: []string{"registry:{name}"},
		New: func(c *Client, name, owner string) lock.Locker {
			eval := func(ctx context.Context, script string) (bool, error) {
				err := c.Redis.Eval(ctx, script, []string{name}, name, owner).Err()
				if errors.Is(err, redis.Nil) {
					return false, nil
				}
				return err == nil, err
			}
			return &Funcs{
				Acquire: func(ctx context.Context) error {
					for ctx.Err() == nil {
						if ok, err := eval(ctx, r.take); ok || err != nil {
							return err
						}
						time.Sleep(50 * time.Millisecond)
					}
					return errTakenThere
				},
				Release: func(ctx context.Context) error { _, err := eval(ctx, r.release); return err },
			}
		},
	}
}

// Each lock works on Redis 7, and fails on the server of the report with its error.
func TestReportsOfServers(t *testing.T) {
	contention := scenarios.Catalogue()[slices.Index(scenarios.Names(), "contention")]
	for name, r := range reportsOfServers {
		t.Run(name, func(t *testing.T) {
			errorsOn := func(server string) []string {
				o, err := newOptions([]Option{Server(server)})
				must.Succeed(t, err)
				l := r.lock()
				l.misuse = new(misuse)
				tested, err := l.forScenarios()
				must.Succeed(t, err)
				tested, err = tested.On(o.server)
				must.Succeed(t, err)
				p, err := play.Simulate(contention, tested, 1, "test")
				must.Succeed(t, err)
				var all []string
				for _, e := range p.History.Events {
					if e.Kind == history.Info || e.Kind == history.Fail {
						all = append(all, e.Result.Message)
					}
				}
				return all
			}
			if got := errorsOn("redis-7"); len(got) > 0 {
				t.Errorf("on redis-7: %q", got)
			}
			got := errorsOn(r.server)
			if !slices.ContainsFunc(got, func(e string) bool { return strings.Contains(e, r.says) }) {
				t.Errorf("on %s: %q, want %q", r.server, got, r.says)
			}
		})
	}
}

func TestServerMustExist(t *testing.T) {
	_, err := newOptions([]Option{Server("dragonfire")})
	if err == nil || !strings.Contains(err.Error(), "dragonfly") {
		t.Errorf("%v, want a list of the servers", err)
	}
}
