package main

import (
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-go/holdfast/suite/workers"
)

// testOnlyWorker replaces the worker process in tests.
var testOnlyWorker string

// poolFlags are the flags of commands that play on worker processes.
type poolFlags struct {
	workers int
	stall   time.Duration
}

// flags adds them to a command; stall is how patient it is by default.
func (f *poolFlags) flags(c *cobra.Command, stall time.Duration) {
	c.Flags().IntVar(&f.workers, "workers", runtime.NumCPU(), "worker processes")
	c.Flags().DurationVar(&f.stall, "stall", stall, "real time after which a run that does not end is given up")
}

func (f poolFlags) check() error {
	if f.workers < 1 || f.workers > 256 {
		return usage("--workers must be from 1 to 256")
	}
	if f.stall < time.Second {
		return usage("--stall must be at least 1s")
	}
	return nil
}

func (f poolFlags) pool() workers.Pool {
	return workers.Pool{Exe: testOnlyWorker, Workers: f.workers, Stall: f.stall}
}
