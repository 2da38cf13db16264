package redsync

import (
	"testing"

	"github.com/holdfast-go/holdfast/locktest"
)

func TestRedsync(t *testing.T) { locktest.Run(t, Lock()) }

func TestRedsyncMajority(t *testing.T) { locktest.Run(t, Majority()) }
