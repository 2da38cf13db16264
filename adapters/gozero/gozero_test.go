package main

// Findings in go-zero's RedisLock, without the harness: each test is as short a way as
// there is to see one. One that fails shows that the library has changed.

import (
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/zeromicro/go-zero/core/logx"
	"github.com/zeromicro/go-zero/core/stores/redis"
)

func connect(t *testing.T) (*miniredis.Miniredis, *redis.Redis) {
	t.Helper()
	logx.Disable()
	m := miniredis.RunT(t)
	return m, redis.MustNewRedis(redis.RedisConf{Host: m.Addr(), Type: redis.NodeType})
}

func acquire(t *testing.T, l *redis.RedisLock, want bool) {
	t.Helper()
	if ok, err := l.Acquire(); err != nil || ok != want {
		t.Fatalf("acquire: %t, %v, want %t", ok, err, want)
	}
}

// A lease is half a second longer than SetExpire says, and half a second without such a
// call. A lock is not kept until it is released.
func TestALeaseIsHalfASecondMore(t *testing.T) {
	m, store := connect(t)
	l := redis.NewRedisLock(store, "stock")
	acquire(t, l, true)
	if ttl := m.TTL("stock"); ttl != tolerance {
		t.Errorf("without SetExpire the lease is %s, want %s", ttl, tolerance)
	}
	l.SetExpire(2)
	acquire(t, l, true)
	if ttl := m.TTL("stock"); ttl != 2*time.Second+tolerance {
		t.Errorf("after SetExpire(2) the lease is %s", ttl)
	}
}

// One RedisLock takes its own lock once more, and counts nothing: the first
// release frees it. Two goroutines that share one are not kept apart.
func TestOneObjectIsOneOwner(t *testing.T) {
	m, store := connect(t)
	l := redis.NewRedisLock(store, "stock")
	l.SetExpire(10)
	acquire(t, l, true)
	acquire(t, l, true)
	acquire(t, redis.NewRedisLock(store, "stock"), false)
	if ok, err := l.Release(); err != nil || !ok || m.Exists("stock") {
		t.Errorf("release: %t, %v, the key is there: %t", ok, err, m.Exists("stock"))
	}
	if ok, err := l.Release(); err != nil || ok {
		t.Errorf("release again: %t, %v", ok, err)
	}
}

// A process has one client for an address, that of the first caller. Its password counts,
// and not that of the second.
func TestAClientIsKeptForAnAddress(t *testing.T) {
	logx.Disable()
	m := miniredis.RunT(t)
	m.RequireAuth("right")
	conf := redis.RedisConf{Host: m.Addr(), Type: redis.NodeType, NonBlock: true}
	conf.Pass = "wrong"
	first := redis.MustNewRedis(conf)
	if _, err := redis.NewRedisLock(first, "stock").Acquire(); err == nil {
		t.Fatal("a wrong password is taken")
	}
	conf.Pass = "right"
	second := redis.MustNewRedis(conf)
	if _, err := redis.NewRedisLock(second, "stock").Acquire(); err == nil {
		t.Error("the second password is used: the client is not kept any more")
	}
}
