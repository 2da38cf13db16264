// Package realtime plays the jobs of a run on real servers, in real time.
package realtime

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/internal/live/servers"
	"github.com/holdfast-go/holdfast/internal/play/liveplay"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// Lock is a lock to play against.
type Lock struct {
	Subject  *locks.Subject
	version  string   // of a lock that is not built in
	adapters []string // the commands that have it, as they were given
	start    time.Duration
	// processes are the programs of its client processes, in turns. One without a
	// command is this program.
	processes []liveplay.AdapterProcess
	// bundled are the servers that it brings along; nil for a lock on Redis.
	bundled *servers.BundledServers
}

// Backend returns the servers of the lock: its own if it has some, those of b
// otherwise.
func (l Lock) Backend(b servers.Backend) servers.Backend {
	if l.bundled != nil {
		return servers.Backend{Bundled: l.bundled}
	}
	return b
}

// UnknownLockError says that neither Holdfast nor an adapter has a lock.
type UnknownLockError struct {
	Name     string
	Adapters []string // the locks that the adapters have
	err      error
}

// Error implements error.
func (e *UnknownLockError) Error() string { return e.err.Error() }

// Unwrap returns the error of the search.
func (e *UnknownLockError) Unwrap() error { return e.err }

// allLocks stands for every built-in lock, beside locks of adapters.
const allLocks = "all"

// Choose finds the locks that are named; without a name those of the adapters,
// or else all that are built in. It starts each adapter to ask what it has, and
// waits for the answer for as long as start says.
func Choose(ctx context.Context, names, adapters []string, start time.Duration) ([]Lock, error) {
	if names != nil && len(names) == 0 {
		return nil, errors.New("--lock names no lock\nhint: leave it out to play all of them; holdfast list locks shows their names")
	}
	others, err := AdapterLocks(ctx, adapters, start)
	if err != nil {
		return nil, err
	}
	if len(names) == 0 && len(others) > 0 {
		return others, nil
	}
	if i := slices.Index(names, allLocks); i >= 0 || len(names) == 0 {
		names = slices.Concat(names[:max(i, 0)], locks.Locks(), namesOf(others), names[min(i+1, len(names)):])
	}
	var list []Lock
	for _, name := range names {
		l, err := find(name, others)
		if err != nil {
			return nil, err
		}
		if !has(list, name) {
			list = append(list, l)
		}
	}
	return list, nil
}

func namesOf(locks []Lock) []string {
	var names []string
	for _, l := range locks {
		names = append(names, l.Subject.Name())
	}
	return names
}

func has(locks []Lock, name string) bool { return slices.Contains(namesOf(locks), name) }

// find finds a lock by its name, or two that are mixed: "reentrant+redisson".
func find(name string, others []Lock) (Lock, error) {
	if first, second, mixed := strings.Cut(name, "+"); mixed {
		return mix(first, second, others)
	}
	for _, l := range others {
		if l.Subject.Name() == name {
			return l, nil
		}
	}
	l, err := locks.FindSubject(name)
	if err != nil {
		return Lock{}, &UnknownLockError{Name: name, Adapters: namesOf(others), err: err}
	}
	return Lock{Subject: l, processes: []liveplay.AdapterProcess{{Lock: name}}}, nil
}

func mix(first, second string, others []Lock) (Lock, error) {
	a, err := find(first, others)
	if err != nil {
		return Lock{}, err
	}
	b, err := find(second, others)
	if err != nil {
		return Lock{}, err
	}
	l, err := locks.Mix(a.Subject, b.Subject)
	if err != nil {
		return Lock{}, err
	}
	return Lock{
		Subject: l, version: strings.Trim(a.version+" "+b.version, " "), adapters: slices.Compact(slices.Concat(a.adapters, b.adapters)),
		start: max(a.start, b.start), processes: slices.Concat(a.processes, b.processes),
	}, nil
}

// AdapterLocks are the locks of adapters.
func AdapterLocks(ctx context.Context, adapters []string, start time.Duration) ([]Lock, error) {
	var all []Lock
	for _, a := range adapters {
		argv, err := Command(a)
		if err != nil {
			return nil, err
		}
		described, err := describe(ctx, argv, start)
		if err != nil {
			return nil, &AdapterError{Command: a, Hint: "docs/adapter-protocol.md says what a worker process answers; holdfast adapter check -- " + a + " tries it", err: err}
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
			l := Lock{Subject: s, version: d.Version, adapters: []string{a}, start: start, processes: []liveplay.AdapterProcess{{Lock: d.Name, Command: argv}}}
			if own := d.Servers; own != nil {
				l.bundled = servers.Bundle(argv, own)
			}
			all = append(all, l)
		}
	}
	return all, nil
}
