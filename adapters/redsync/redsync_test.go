package redsync

import (
	"testing"

	"github.com/holdfast-go/holdfast/locktest"
)

// Crossed workloads show the causes on the page of redsync once more, after other faults.
func TestRedsync(t *testing.T) { locktest.Run(t, Lock(), locktest.Crossed(0)) }

func TestRedsyncMajority(t *testing.T) { locktest.Run(t, Majority(), locktest.Crossed(0)) }
