package main

import (
	"fmt"
	"math"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-go/holdfast/internal/suite/workers"
)

// testOnlyWorker replaces the worker process in tests.
var testOnlyWorker string

// poolFlags are the flags of commands that play on worker processes.
type poolFlags struct {
	workers int
	stall   time.Duration
}

// flags adds them to a command, with stall as the default of --stall.
func (f *poolFlags) flags(c *cobra.Command, stall time.Duration) {
	c.Flags().IntVar(&f.workers, "workers", runtime.NumCPU(), "worker processes")
	c.Flags().DurationVar(&f.stall, "stall", stall, "processor time after which a run that does not end is given up")
}

func (f poolFlags) check() error {
	if f.stall < time.Second {
		return usage("--stall must be at least 1s")
	}
	return between("--workers", f.workers, 1, 256)
}

// between refuses a number outside of a range.
func between(flag string, n, least, most int) error {
	if n < least || n > most {
		return usage(fmt.Sprintf("%s must be from %d to %d", flag, least, most))
	}
	return nil
}

// seeds refuses a first seed that is too large for the number of seeds.
func seeds(first uint64, n int) error {
	if last := first + uint64(max(n, 1)) - 1; last < first {
		return usage(fmt.Sprintf("--seed %d leaves no room for %d seeds: the last one is %d", first, n, uint64(math.MaxUint64)))
	}
	return nil
}

func (f poolFlags) pool() workers.Pool {
	return workers.Pool{Exe: testOnlyWorker, Workers: f.workers, Stall: f.stall}
}
