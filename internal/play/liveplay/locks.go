package liveplay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/internal/live/servers"
	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

type Lock struct {
	Lock     *locks.Lock
	version  string   // of a lock that is not built in
	adapters []string // the commands that have it, as they were given
	start    time.Duration
	// processes are the programs of its client processes, in turns. One without a
	// command is this program.
	processes []AdapterProcess
	// clock is the reason why no library moves the clocks of its client processes, or nil.
	clock error
	// bundled are the servers that it brings along; nil for a lock on Redis.
	bundled *servers.BundledServers
}

// errOwnClient is the reason for locks that are built in.
var errOwnClient = errors.New("a built-in lock runs in Go, which asks the kernel for the time; --world sim moves the clock of each client")

// backend returns the servers of the lock: its own if it has some, those of b otherwise.
func (l Lock) backend(b servers.Backend) servers.Backend {
	if l.bundled != nil {
		return servers.Backend{Bundled: l.bundled}
	}
	return b
}

// Locks implements [suite.World]. It starts each adapter to ask what it has. Without
// a name the locks are those of the adapters, or else all that are built in.
func (w *World) Locks(ctx context.Context, names []string) ([]*locks.Lock, error) {
	others, err := AdapterLocks(ctx, w.Adapters, w.AdapterStart)
	if err != nil {
		return nil, err
	}
	if len(names) == 0 && len(others) > 0 {
		names = namesOf(others)
	}
	w.locks = nil
	var all []*locks.Lock
	if names, err = suite.LockNames(names, namesOf(others)); err != nil {
		return nil, err
	}
	for _, name := range names {
		l, err := findLock(name, others)
		if err != nil {
			return nil, err
		}
		w.locks, all = append(w.locks, l), append(all, l.Lock)
	}
	return all, nil
}

// Lacks implements [suite.World].
func (w *World) Lacks(s *scenarios.Scenario, l *locks.Lock) (string, error) {
	if w.Scale != 0 {
		if err := checkPace(s, w.Scale); err != nil {
			return "", fmt.Errorf("%s: %w\nhint: choose a larger --time-scale", s.Name, err)
		}
	}
	of := w.lock(l.Name())
	_, reason := Carries(s, l, of.backend(w.Backend))
	if reason == "" && needsOf(s, l).wall {
		if err := cmp.Or(of.clock, servers.CanCompile()); err != nil {
			reason = "the wall clock of a client does not move here: " + err.Error()
		}
	}
	return reason, nil
}

func (w *World) lock(name string) Lock {
	return w.locks[slices.IndexFunc(w.locks, func(l Lock) bool { return l.Lock.Name() == name })]
}

func namesOf(locks []Lock) []string {
	return english.Words(locks, func(l Lock) string { return l.Lock.Name() })
}

func has(locks []Lock, name string) bool { return slices.Contains(namesOf(locks), name) }

// findLock finds a lock by its name, or two that are mixed: "reentrant+redisson".
func findLock(name string, others []Lock) (Lock, error) {
	if first, second, mixed := strings.Cut(name, "+"); mixed {
		return mixLocks(first, second, others)
	}
	for _, l := range others {
		if l.Lock.Name() == name {
			return l, nil
		}
	}
	l, err := locks.Find(name)
	if err != nil {
		return Lock{}, &suite.UnknownLockError{Name: name, Others: namesOf(others), Err: err}
	}
	return Lock{Lock: l, processes: []AdapterProcess{{Lock: name}}, clock: errOwnClient}, nil
}

func mixLocks(first, second string, others []Lock) (Lock, error) {
	a, err := findLock(first, others)
	if err != nil {
		return Lock{}, err
	}
	b, err := findLock(second, others)
	if err != nil {
		return Lock{}, err
	}
	l, err := locks.Mix(a.Lock, b.Lock)
	if err != nil {
		return Lock{}, err
	}
	return Lock{
		Lock: l, version: strings.Trim(a.version+" "+b.version, " "), adapters: slices.Compact(slices.Concat(a.adapters, b.adapters)),
		start: max(a.start, b.start), clock: cmp.Or(a.clock, b.clock), processes: slices.Concat(a.processes, b.processes),
	}, nil
}

func AdapterLocks(ctx context.Context, adapters []string, start time.Duration) ([]Lock, error) {
	var all []Lock
	for _, a := range adapters {
		argv, err := Command(a)
		if err != nil {
			return nil, err
		}
		described, clock, err := describe(ctx, argv, start)
		if err != nil {
			return nil, &AdapterError{Command: a, Hint: "docs/adapter-protocol.md says what an adapter process answers; holdfast adapter check -- " + a + " tries it", err: err}
		}
		for _, d := range described {
			if err := scenarios.CheckKnown(d); err != nil {
				return nil, &AdapterError{Command: a, err: err}
			}
			s, err := locks.NewThirdParty(d, nil)
			if err != nil {
				return nil, &AdapterError{Command: a, err: err}
			}
			if has(all, d.Name) {
				return nil, fmt.Errorf("two adapters have a lock %q", d.Name)
			}
			l := Lock{Lock: s, version: d.Version, adapters: []string{a}, start: start, clock: clock, processes: []AdapterProcess{{Lock: d.Name, Command: argv}}}
			if own := d.Servers; own != nil {
				l.bundled = servers.Bundle(argv, own)
			}
			all = append(all, l)
		}
	}
	return all, nil
}
