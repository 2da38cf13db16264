package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/live/servers"
	"github.com/holdfast-go/holdfast/play/liveplay"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/subject"
)

// contender is a lock to play against.
type contender struct {
	subject  *subject.Subject
	version  string   // of a lock that is not built in
	adapters []string // the commands that have it, as they were given
	// workers are what its client processes run, in turns; one without a command
	// is this program.
	workers []liveplay.Worker
	// servers are those that it brings along; nil for a lock on Redis.
	servers *servers.BundledServers
}

// backend is what its servers are, where others have those of the backend.
func (c contender) backend(b servers.Backend) servers.Backend {
	if c.servers != nil {
		return servers.Backend{Bundled: c.servers}
	}
	return b
}

// allLocks stands for every built-in lock, beside locks of adapters.
const allLocks = "all"

// contend finds the locks that are named; without a name those of the adapters,
// or else all that are built in. An adapter is started, and asked what it has.
func contend(ctx context.Context, names, adapters []string) ([]contender, error) {
	guests, err := adapterLocks(ctx, adapters)
	if err != nil {
		return nil, err
	}
	if len(names) == 0 && len(guests) > 0 {
		return guests, nil
	}
	if i := slices.Index(names, allLocks); i >= 0 || len(names) == 0 {
		var all []string
		for _, g := range guests {
			all = append(all, g.subject.Name())
		}
		names = slices.Concat(names[:max(i, 0)], subject.Locks(), all, names[min(i+1, len(names)):])
	}
	var list []contender
	for _, name := range names {
		c, err := find(name, guests)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(list, func(d contender) bool { return d.subject.Name() == name }) {
			list = append(list, c)
		}
	}
	return list, nil
}

// find finds a lock by its name, or two that are mixed: "reentrant+redisson".
func find(name string, guests []contender) (contender, error) {
	if first, second, mixed := strings.Cut(name, "+"); mixed {
		return mix(first, second, guests)
	}
	for _, g := range guests {
		if g.subject.Name() == name {
			return g, nil
		}
	}
	l, err := subject.FindSubject(name)
	if err != nil {
		own := make([]string, len(guests))
		for i, g := range guests {
			own[i] = g.subject.Name()
		}
		return contender{}, usage(err.Error(), didYouMean(name, slices.Concat(own, playable())), "holdfast list locks shows them all; holdfast list mutants those that are wrong on purpose")
	}
	return contender{subject: l, workers: []liveplay.Worker{{Lock: name}}}, nil
}

func mix(first, second string, guests []contender) (contender, error) {
	a, err := find(first, guests)
	if err != nil {
		return contender{}, err
	}
	b, err := find(second, guests)
	if err != nil {
		return contender{}, err
	}
	l, err := subject.Mix(a.subject, b.subject)
	if err != nil {
		return contender{}, usage(err.Error())
	}
	return contender{
		subject: l, version: strings.Trim(a.version+" "+b.version, " "), adapters: slices.Compact(slices.Concat(a.adapters, b.adapters)),
		workers: slices.Concat(a.workers, b.workers),
	}, nil
}

// adapterLocks are the locks of adapters.
func adapterLocks(ctx context.Context, adapters []string) ([]contender, error) {
	var all []contender
	for _, a := range adapters {
		argv, err := adapterCommand(a)
		if err != nil {
			return nil, err
		}
		locks, err := describe(ctx, argv)
		if err != nil {
			return nil, badInput(fmt.Errorf("adapter %s: %w", a, err), "docs/adapter-protocol.md says what a worker process answers; holdfast adapter check -- "+a+" tries it")
		}
		for _, d := range locks {
			if err := scenarios.CheckKnown(d); err != nil {
				return nil, badInput(fmt.Errorf("adapter %s: %w", a, err))
			}
			l, err := subject.NewThirdParty(d, nil)
			if err != nil {
				return nil, badInput(fmt.Errorf("adapter %s: %w", a, err))
			}
			if slices.ContainsFunc(all, func(c contender) bool { return c.subject.Name() == d.Name }) {
				return nil, usage(fmt.Sprintf("two adapters have a lock %q", d.Name))
			}
			c := contender{
				subject: l, version: d.Version, adapters: []string{a},
				workers: []liveplay.Worker{{Lock: d.Name, Command: argv}},
			}
			if own := d.Servers; own != nil {
				c.servers = &servers.BundledServers{Command: slices.Concat(argv, own.Args), Members: own.Members}
			}
			all = append(all, c)
		}
	}
	return all, nil
}
