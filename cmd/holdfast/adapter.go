package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-go/holdfast/internal/live/conform"
	"github.com/holdfast-go/holdfast/internal/play/liveplay"
)

func newAdapterCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "adapter",
		Short: "Check a worker process that has locks of its own",
		Long: `An adapter is a worker process: it has locks, in any language, and speaks
docs/adapter-protocol.md on its standard input and output.

holdfast adapter check tells whether it speaks it right; then
holdfast run --world live --adapter 'CMD' plays scenarios against its locks.`,
		RunE: helpOnly,
	}
	c.PersistentPreRunE = func(*cobra.Command, []string) error { return needLinux("holdfast adapter") }
	c.AddCommand(newAdapterCheckCmd(), newAdapterDescribeCmd())
	return c
}

// needCommand refuses a command line without the command of an adapter.
func needCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usage("adapter "+c.Name()+" needs a command", c.CommandPath()+" -- CMD [ARG ...]")
	}
	return nil
}

type adapterCheckFlags struct {
	locks    []string
	checks   []string
	backend  string
	format   string
	lease    time.Duration
	patience time.Duration
}

func newAdapterCheckCmd() *cobra.Command {
	var f adapterCheckFlags
	c := &cobra.Command{
		Use:   "check [flags] -- CMD [ARG ...]",
		Short: "Check a worker process against the worker protocol",
		Long: `Starts processes of CMD and servers for them, and asks what a run would ask. It
tries sentences of docs/adapter-protocol.md, and says of each whether the worker
keeps to it:

  ok      it does
  FAILED  it does not; the reason, and the sentence, are below
  -       the lock does not claim it, or what it needs has failed

All waits are bounded: a worker that dies, writes garbage or never answers fails
a check. CMD is one word per argument, or all of it in one, as for --adapter.

Exit codes: 0 nothing failed; 1 something did; 2 bad usage or bad input; 4 a
defect of holdfast itself; 130 interrupted.`,
		Example: `  holdfast adapter check -- adapters/node/holdfast-node-redlock
  holdfast adapter check --lock mine --check cancel,waits -- python3 worker.py --verbose
  holdfast adapter check --backend miniredis --format json -- ./worker`,
		Args: needCommand,
		RunE: func(c *cobra.Command, args []string) error { return checkAdapter(c, args, f) },
	}
	c.Flags().SetInterspersed(false) // the words after the command belong to it
	c.Flags().StringSliceVar(&f.locks, "lock", nil, "locks to check, by name (default all that it describes)")
	c.Flags().StringSliceVar(&f.checks, "check", nil, "checks to carry out, by name, beside those that all others need (default all)")
	c.Flags().StringVar(&f.backend, "backend", liveplay.AutoBackend, "what the servers are, redis (redis-server or valkey-server), miniredis or the path of a program; auto is redis where it is installed")
	formatFlag(c, &f.format, []string{"text", "json"}, "what to print: text or json")
	c.Flags().DurationVar(&f.lease, "lease", conform.DefaultLease, "lease that the locks are opened with")
	c.Flags().DurationVar(&f.patience, "patience", conform.DefaultPatience, "how long an answer may take that has to wait for nothing; the start of a process, three times as long")
	complete(c, "check", conform.Names())
	complete(c, "backend", liveplay.Backends())
	return c
}

func (f adapterCheckFlags) check() error {
	for _, name := range f.checks {
		if !slices.Contains(conform.Names(), name) {
			return usage("unknown check "+quote(name), didYouMean(name, conform.Names()), "the checks are "+strings.Join(conform.Names(), ", "))
		}
	}
	if f.lease < 500*time.Millisecond || f.lease > time.Minute {
		return usage("--lease must be from 500ms to 1m")
	}
	if f.patience < 100*time.Millisecond || f.patience > 10*time.Minute {
		return usage("--patience must be from 100ms to 10m")
	}
	return nil
}

func checkAdapter(c *cobra.Command, args []string, f adapterCheckFlags) (err error) {
	if err := f.check(); err != nil {
		return err
	}
	argv, err := liveplay.Command(args...)
	if err != nil {
		return notPlayed(err)
	}
	on := runFlags{world: worldLive, backend: f.backend}
	if err := on.checkBackend(); err != nil {
		return err
	}
	servers, err := on.servers(c.Context(), c.ErrOrStderr())
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "holdfast-adapter-")
	if err != nil {
		return defect(err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	page := conform.NewPage(c.OutOrStdout())
	o := conform.Options{Command: argv, Backend: servers, Dir: dir, Locks: f.locks, Checks: f.checks, Lease: f.lease, Patience: f.patience}
	if f.format == "text" {
		o.Heard = page.Result
	}
	report, err := conform.Check(c.Context(), o)
	var unknown *conform.UnknownLockError
	switch {
	case errors.As(err, &unknown):
		return usage(unknown.Error(), didYouMean(unknown.Lock, unknown.Has), "it has "+strings.Join(unknown.Has, ", "))
	case c.Context().Err() != nil:
		return &exitError{code: exitInterrupted, msg: "interrupted"}
	case err != nil:
		return defect(err)
	}
	if f.format == "json" {
		err = printJSON(c.OutOrStdout(), report.Document(version, args))
	} else {
		err = page.End(report)
	}
	if err != nil {
		return defect(fmt.Errorf("print result: %w", err))
	}
	if report.Count(conform.Failed) > 0 {
		return result(exitUnexpected)
	}
	return nil
}

func newAdapterDescribeCmd() *cobra.Command {
	return &cobra.Command{
		Use:     "describe -- CMD [ARG ...]",
		Short:   "Print what a worker process says of its locks, as JSON",
		Example: `  holdfast adapter describe -- adapters/python/holdfast-redis-py`,
		Args:    needCommand,
		RunE: func(c *cobra.Command, args []string) error {
			locks, err := liveplay.AdapterLocks(c.Context(), []string{strings.Join(args, " ")}, adapterStart)
			if err != nil {
				return notPlayed(err)
			}
			for _, l := range locks {
				d, _ := l.Lock.Description()
				if err := printJSON(c.OutOrStdout(), d); err != nil {
					return defect(err)
				}
			}
			return nil
		},
	}
}
