package live

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// scripts is a hook that tells when a script about a lock has been answered. A
// waiter runs one to ask for the lock, and one after its subscription is confirmed.
type scripts struct {
	mu    sync.Mutex
	about map[string]chan struct{}
}

// of tells from now on of scripts about a lock: one value for each.
func (s *scripts) of(name string) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.about == nil {
		s.about = map[string]chan struct{}{}
	}
	s.about[name] = make(chan struct{}, 1000)
	return s.about[name]
}

// DialHook implements [redis.Hook].
func (s *scripts) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessPipelineHook implements [redis.Hook].
func (s *scripts) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// ProcessHook implements [redis.Hook].
func (s *scripts) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if strings.HasPrefix(cmd.Name(), "eval") && err == nil {
			s.answered(fmt.Sprint(cmd.Args()...))
		}
		return err
	}
}

func (s *scripts) answered(args string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, told := range s.about {
		if !strings.Contains(args, name) {
			continue
		}
		select {
		case told <- struct{}{}:
		default: // the test does not wait for as many
		}
	}
}

// await waits until n more scripts have been answered.
func await(t *testing.T, what string, told <-chan struct{}, n int) {
	t.Helper()
	tooLong := time.After(10 * time.Second)
	for range n {
		select {
		case <-told:
		case <-tooLong:
			t.Fatalf("not within 10 s: %s", what)
		}
	}
}
