package locktest

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"

	"github.com/holdfast-go/holdfast/internal/redis/profile"
	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/holdfast-go/holdfast/scenarios"
)

// Option changes the runs of [Run], [Explore] and [Exhaust]. [Scenarios], [Files],
// [Seeds] and [CannotStrike] are for Run, [Runs] is for Explore.
type Option func(*options) error

// options say what Run plays.
type options struct {
	scenarios []string // names and files; all built-in ones when it is empty
	seed      uint64
	seeds     int
	users     string // one of [suite.UserChoices]
	server    string // of [profile.Names]; the lock's own when it is empty
	runs      int    // of Explore
	crossed   int    // rows of the crossing at the end of Run
	unstruck  []unstruck

	// Of Exhaust.
	base   string
	faults []string
	part   suite.Shard
}

// Scenarios selects built-in scenarios by name, instead of the whole catalogue.
func Scenarios(names ...string) Option {
	return func(o *options) error {
		for _, name := range names {
			_, err := scenarios.Source(name)
			var unknown *scenarios.UnknownScenarioError
			switch {
			case errors.As(err, &unknown):
				return fmt.Errorf("%w; %s", err, unknown.Hint())
			case err != nil:
				return err
			case slices.Contains(o.scenarios, name):
				return fmt.Errorf("Scenarios names %q twice, and it is played once for each seed: leave one out, or ask for more seeds with Seeds(2)", name)
			}
			o.scenarios = append(o.scenarios, name)
		}
		return nil
	}
}

// Files adds scenario files of your own. They replace the catalogue, or come
// beside the scenarios of [Scenarios].
func Files(paths ...string) Option {
	return func(o *options) error {
		for _, path := range paths {
			if !suite.IsFile(path) {
				path = "./" + path
			}
			o.scenarios = append(o.scenarios, path)
		}
		return nil
	}
}

// Seeds plays every scenario with n seeds, counting up from the first.
func Seeds(n int) Option {
	return func(o *options) error {
		if n < 1 {
			return fmt.Errorf("there must be a seed, not %d", n)
		}
		o.seeds = n
		return nil
	}
}

// Crossed sets the number of small workloads that Run plays after the catalogue; 0 leaves
// them out. The default is 1,000 on one primary, and fewer on several. With -short it is
// a tenth of that.
func Crossed(n int) Option {
	return func(o *options) error {
		if n < 0 {
			return fmt.Errorf("there cannot be %d crossed workloads", n)
		}
		o.crossed = n
		return nil
	}
}

// Runs sets the number of scenarios that Explore draws, by default 200.
func Runs(n int) Option {
	return func(o *options) error {
		if n < 1 {
			return fmt.Errorf("there must be a run, not %d", n)
		}
		o.runs = n
		return nil
	}
}

// Base limits Exhaust to one workload. docs/exhaustive.md lists the names;
// "-careful" after a name selects a careful user.
func Base(name string) Option {
	return func(o *options) error {
		o.base = name
		return nil
	}
}

// Faults limits [Exhaust] to these kinds of fault.
func Faults(names ...string) Option {
	return func(o *options) error {
		o.faults = append(o.faults, names...)
		return nil
	}
}

// Part limits Exhaust to part i of n, from 1 to n, so that n machines can share the work.
func Part(i, n int) Option {
	return func(o *options) error {
		var err error
		o.part, err = suite.ParseShard(fmt.Sprintf("%d/%d", i, n))
		return err
	}
}

// User selects one kind of user: "careful", who stops when the validity of the
// hold is over, or "careless", who works to the end. By default, "both", Run plays
// every scenario that names no user with both.
func User(kind string) Option {
	return func(o *options) error {
		o.users = kind
		return suite.CheckUsers(kind)
	}
}

// Server plays the lock on simulated servers as they are offered, such as "dragonfly" or
// "valkey-9.1", instead of Redis 7 with all rights. docs/servers.md has the names.
// "elasticache-serverless" makes every scenario one on a cluster.
func Server(name string) Option {
	return func(o *options) error {
		o.server = name
		_, err := profile.Find(name)
		if unknown, is := errors.AsType[*profile.UnknownError](err); is {
			return fmt.Errorf("Server: %w; %s", err, unknown.Hint())
		}
		return err
	}
}

func newOptions(opts []Option) (options, error) {
	o := options{seed: 1, seeds: 1, users: suite.BothUsers, runs: 200, crossed: -1, part: suite.Shard{Index: 1, Of: 1}}
	for i, opt := range opts {
		if opt == nil {
			return o, fmt.Errorf("locktest: option %d is nil; options are made by functions, such as Scenarios or Seeds", i+1)
		}
		if err := opt(&o); err != nil {
			return o, fmt.Errorf("locktest: %w", err)
		}
	}
	if err := o.checkUnstruck(); err != nil {
		return o, fmt.Errorf("locktest: %w", err)
	}
	if text := os.Getenv(seedVar); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return o, fmt.Errorf("locktest: %s: %w", seedVar, err)
		}
		o.seed = seed
	}
	return o, nil
}
