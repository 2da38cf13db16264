package redislock

import (
	"testing"

	"github.com/holdfast-go/holdfast/locktest"
)

// Crossed workloads show the causes on the page of redislock once more, after other faults.
func TestRedislock(t *testing.T) { locktest.Run(t, Lock(), locktest.Crossed(0)) }
