package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-go/holdfast/live/servers"
	"github.com/holdfast-go/holdfast/live/servers/miniredis"
	"github.com/holdfast-go/holdfast/suite/realtime"
)

func newMiniredisCmd() *cobra.Command {
	return &cobra.Command{
		Use: "miniredis CONF", Short: "Be a server of a run in real time (internal)", Hidden: true, Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return miniredis.Serve(c.Context(), args[0], c.OutOrStdout())
		},
	}
}

// checkBackend says what is wrong with --backend.
func (f runFlags) checkBackend() error {
	if err := f.external.check(f); err != nil {
		return err
	}
	switch {
	case f.world != worldLive && f.backend != realtime.AutoBackend && f.backend != "":
		return usage("--backend is for --world live; the simulator has servers of its own")
	case f.world == worldLive && !slices.Contains(realtime.Backends(), f.backend):
		return usage("unknown backend "+quote(f.backend), didYouMean(f.backend, realtime.Backends()), "the backends are "+strings.Join(realtime.Backends(), ", "))
	}
	return nil
}

// withBackend decides what the servers are, and says so on stderr when nobody
// has asked for it.
func (f runFlags) withBackend(ctx context.Context, stderr io.Writer) (runFlags, error) {
	if f.world != worldLive {
		return f, nil
	}
	var err error
	if f.external.given() {
		f.servers.External, err = f.external.discover(ctx)
		return f, err
	}
	if f.servers, err = realtime.FindBackend(f.backend); err != nil {
		return f, noServers(err)
	}
	if f.backend == realtime.AutoBackend {
		if f.backend = f.servers.Name(); f.backend == servers.Miniredis {
			fmt.Fprintln(stderr, "no redis-server or valkey-server is on the PATH: playing on miniredis, which cannot carry every scenario")
		}
	}
	return f, nil
}

func noServers(err error) error {
	if mini := (servers.Backend{Miniredis: []string{"miniredis"}}); mini.Available() != nil { // nor would any other work
		return badInput(err, "--world sim needs no servers")
	}
	return badInput(err, "install one: apt-get install redis-server, dnf install valkey, apk add redis",
		"or play on what needs no installation: --world live --backend miniredis")
}

// adapterStart is how long a process of an adapter may take to answer what it
// is asked first: a virtual machine may have to come up. Tests are less patient.
var adapterStart = 30 * time.Second

// contend finds the locks that are named, and those of adapters.
func contend(ctx context.Context, names, adapters []string) ([]realtime.Lock, error) {
	locks, err := realtime.Choose(ctx, names, adapters, adapterStart)
	return locks, lockError(err)
}

// lockError maps an error of the choice of locks; nil stays nil.
func lockError(err error) error {
	var unknown *realtime.UnknownLockError
	var adapter *realtime.AdapterError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &unknown):
		return usage(err.Error(), didYouMean(unknown.Name, slices.Concat(unknown.Adapters, playable())), "holdfast list locks shows them all; holdfast list mutants those that are wrong on purpose")
	case errors.As(err, &adapter):
		return badInput(err, adapter.Hint)
	}
	return badInput(err)
}
