package redislock

import (
	"testing"

	"github.com/holdfast-go/holdfast/locktest"
)

func TestRedislock(t *testing.T) { locktest.Run(t, Lock()) }
