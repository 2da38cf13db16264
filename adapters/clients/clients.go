package clients

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"time"

	redisv8 "github.com/go-redis/redis/v8"
	"github.com/gomodule/redigo/redis"
	"github.com/redis/rueidis"
)

// dial connects a process of a run to a server.
type dial func(ctx context.Context, network, addr string) (net.Conn, error)

// onRueidis sends with rueidis. Client-side caching is off, as the lock reads nothing.
// So is pipelining: it runs a writer and a reader beside each other, in an order that
// no seed decides.
type onRueidis struct{ client rueidis.Client }

func newRueidis(addr string, d dial) (commands, error) {
	client, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{addr}, ForceSingleClient: true, DisableCache: true, DisableRetry: true, AlwaysRESP2: true, DisableAutoPipelining: true,
		DialCtxFn: func(ctx context.Context, addr string, _ *net.Dialer, _ *tls.Config) (net.Conn, error) {
			return d(ctx, "tcp", addr)
		},
	})
	return onRueidis{client}, err
}

func (c onRueidis) set(ctx context.Context, key, value string, lease time.Duration) (bool, error) {
	err := c.client.Do(ctx, c.client.B().Set().Key(key).Value(value).Nx().Px(lease).Build()).Error()
	if rueidis.IsRedisNil(err) {
		return false, nil
	}
	return err == nil, err
}

func (c onRueidis) release(ctx context.Context, key, value string) (int64, error) {
	return c.client.Do(ctx, c.client.B().Eval().Script(release).Numkeys(1).Key(key).Arg(value).Build()).AsInt64()
}

func (c onRueidis) Close() error {
	c.client.Close()
	return nil
}

// onRedigo sends with redigo, whose pool makes a connection for each request that
// finds none.
type onRedigo struct{ pool *redis.Pool }

func newRedigo(addr string, d dial) (commands, error) {
	return onRedigo{&redis.Pool{MaxIdle: 10, DialContext: func(ctx context.Context) (redis.Conn, error) {
		return redis.DialContext(ctx, "tcp", addr, redis.DialContextFunc(d))
	}}}, nil
}

func (c onRedigo) do(ctx context.Context, command string, args ...any) (any, error) {
	conn, err := c.pool.GetContext(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	return redis.DoContext(conn, ctx, command, args...)
}

func (c onRedigo) set(ctx context.Context, key, value string, lease time.Duration) (bool, error) {
	reply, err := redis.String(c.do(ctx, "SET", key, value, "NX", "PX", lease.Milliseconds()))
	if errors.Is(err, redis.ErrNil) {
		return false, nil
	}
	return reply == "OK", err
}

func (c onRedigo) release(ctx context.Context, key, value string) (int64, error) {
	return redis.Int64(c.do(ctx, "EVAL", release, 1, key, value))
}

func (c onRedigo) Close() error { return c.pool.Close() }

// onGoRedis8 sends with go-redis 8. Its pool never runs out: who waits for a
// connection takes a timer from a sync.Pool, which may be that of another run.
type onGoRedis8 struct{ client *redisv8.Client }

func newGoRedis8(addr string, d dial) (commands, error) {
	return onGoRedis8{redisv8.NewClient(&redisv8.Options{
		Addr: addr, Dialer: d, MaxRetries: -1, PoolSize: 1000, IdleCheckFrequency: -1,
	})}, nil
}

func (c onGoRedis8) set(ctx context.Context, key, value string, lease time.Duration) (bool, error) {
	return c.client.SetNX(ctx, key, value, lease).Result()
}

func (c onGoRedis8) release(ctx context.Context, key, value string) (int64, error) {
	return c.client.Eval(ctx, release, []string{key}, value).Int64()
}

func (c onGoRedis8) Close() error { return c.client.Close() }
