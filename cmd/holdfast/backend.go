package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-go/holdfast/live/processes"
	"github.com/holdfast-go/holdfast/live/servers"
	"github.com/holdfast-go/holdfast/live/servers/miniredis"
	"github.com/holdfast-go/holdfast/suite/workers"
)

// backendAuto is redis where it is installed, and miniredis elsewhere.
const backendAuto = "auto"

// backends are what --backend takes.
var backends = []string{backendAuto, servers.Redis, servers.Miniredis}

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
	case f.world != worldLive && f.backend != backendAuto && f.backend != "":
		return usage("--backend is for --world live; the simulator has servers of its own")
	case f.world == worldLive && !slices.Contains(backends, f.backend):
		return usage("unknown backend "+quote(f.backend), didYouMean(f.backend, backends), "the backends are "+strings.Join(backends, ", "))
	}
	return nil
}

// withBackend decides what the servers are, and says so on stderr when nobody
// has asked for it.
func (f runFlags) withBackend(ctx context.Context, stderr io.Writer) (runFlags, error) {
	if f.world != worldLive {
		return f, nil
	}
	if f.external.given() {
		own, err := f.external.discover(ctx)
		f.servers.External = own
		return f, err
	}
	if f.backend == backendAuto {
		f.backend = servers.Redis
		if err := (servers.Backend{}).Available(); errors.Is(err, processes.ErrUnavailable) {
			f.backend = servers.Miniredis
			fmt.Fprintln(stderr, "no redis-server or valkey-server is on the PATH: playing on miniredis, which cannot carry every scenario")
		}
	}
	var err error
	f.servers, err = serversOf(f.backend)
	return f, err
}

// serversOf are the servers of a backend, if this machine has them.
func serversOf(backend string) (servers.Backend, error) {
	var b servers.Backend
	if backend == servers.Miniredis {
		exe, err := workers.Self()
		if err != nil {
			return b, defect(err)
		}
		b.Miniredis = []string{exe, "miniredis"}
	}
	err := b.Available()
	if err == nil {
		return b, nil
	}
	if mini := (servers.Backend{Miniredis: []string{"miniredis"}}); mini.Available() != nil { // nor would any other work
		return b, badInput(err, "--world sim needs no servers")
	}
	return b, badInput(err, "install one: apt-get install redis-server, dnf install valkey, apk add redis",
		"or play on what needs no installation: --world live --backend miniredis")
}
