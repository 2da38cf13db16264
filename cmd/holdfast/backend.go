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

	"github.com/holdfast-go/holdfast/internal/live/processes"
	"github.com/holdfast-go/holdfast/internal/live/servers"
	"github.com/holdfast-go/holdfast/internal/live/servers/miniredis"
	"github.com/holdfast-go/holdfast/internal/play/liveplay"
)

func newMiniredisCmd() *cobra.Command {
	return &cobra.Command{
		Use: "miniredis CONF", Short: "Be a server of a run in real time (internal)", Hidden: true, Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return miniredis.Serve(c.Context(), args[0], c.OutOrStdout())
		},
	}
}

// checkBackend returns the mistake in --backend, or nil.
func (f runFlags) checkBackend() error {
	if err := f.external.check(f); err != nil {
		return err
	}
	switch {
	case f.world != worldLive && f.backend != liveplay.AutoBackend && f.backend != "":
		return usage("--backend is for --world live; the simulator has servers of its own")
	case f.world == worldLive && !slices.Contains(liveplay.Backends(), f.backend) && !liveplay.IsProgram(f.backend):
		return usage("unknown backend "+quote(f.backend), didYouMean(f.backend, liveplay.Backends()), "the backends are "+strings.Join(liveplay.Backends(), ", ")+", and the path of a server's program")
	}
	return nil
}

// servers are those that the flags select. It names its choice on stderr if no flag did.
func (f runFlags) servers(ctx context.Context, stderr io.Writer) (b servers.Backend, err error) {
	if f.external.given() {
		b.External, err = f.external.discover(ctx)
		return b, err
	}
	if b, err = liveplay.FindBackend(f.backend); err != nil {
		return b, noServers(err)
	}
	if f.backend == liveplay.AutoBackend && b.Name() == servers.Miniredis {
		fmt.Fprintln(stderr, "no redis-server or valkey-server is on the PATH: playing on miniredis, which cannot carry every scenario")
	}
	return b, nil
}

func noServers(err error) error {
	if mini := (servers.Backend{Miniredis: []string{"miniredis"}}); mini.Available() != nil { // no other backend would work either
		return badInput(err, "--world sim needs no servers")
	}
	return badInput(err, "install one: apt-get install redis-server, dnf install valkey, apk add redis",
		"or play on what needs no installation: --world live --backend miniredis")
}

// adapterStart is the time that the process of an adapter may take to answer the first
// request, because a virtual machine may have to start. Tests are less patient.
var adapterStart = 30 * time.Second

// needLinux is an error of usage where the live world cannot run. what is the
// flag or command that needs it.
func needLinux(what string) error {
	if processes.Supported() == nil {
		return nil
	}
	return badInput(fmt.Errorf("%s needs Linux: %w", what, processes.ErrNotLinux), "--world sim works here")
}

// externalServers are the flags for servers that the user runs.
type externalServers struct {
	addresses []string
	guest     servers.Guest
}

func (o *externalServers) flags(c *cobra.Command) {
	c.Flags().StringArrayVar(&o.addresses, "redis", nil,
		"live: play on servers of your own: redis://[USER:PASSWORD@]HOST:PORT (repeat it for locks on several), sentinel://HOST:PORT[,HOST:PORT...]/MASTER or cluster://HOST:PORT[,HOST:PORT...]; rediss://, sentinels:// and clusters:// use TLS; HOLDFAST_REDIS_PASSWORD and the like keep secrets off the command line")
	c.Flags().StringVar(&o.guest.CA, "redis-ca", "", "live: a PEM file of the authority that signs the certificates of the servers (default the system's)")
	c.Flags().StringVar(&o.guest.Cert, "redis-cert", "", "live: a PEM file of a certificate to show to the servers")
	c.Flags().StringVar(&o.guest.Key, "redis-key", "", "live: a PEM file of its key")
	c.Flags().StringVar(&o.guest.Name, "redis-name", "", "live: the name in the certificates of the servers (default the host of each address)")
	c.Flags().BoolVar(&o.guest.Remote, "allow-remote", false, "live: --redis may lead to another machine")
}

func (o externalServers) given() bool { return len(o.addresses) > 0 }

// check returns the mistake in the flags, or nil.
func (o externalServers) check(f runFlags) error {
	switch {
	case o.given() && f.world != worldLive:
		return usage("--redis is for --world live; the simulator has servers of its own")
	case o.given() && f.backend != liveplay.AutoBackend:
		return usage("--backend says what servers to start, and --redis to start none: leave one of them out")
	}
	list, err := servers.ParseAddresses(o.addresses)
	if err != nil {
		return usage("--redis: "+err.Error(), "such as redis://127.0.0.1:6379; holdfast run --help shows the forms")
	}
	if err := o.guest.Check(list); err != nil {
		return usage(err.Error())
	}
	return nil
}

// discover finds the servers, and checks that Holdfast can use them.
func (o externalServers) discover(ctx context.Context) (*servers.External, error) {
	list, _ := servers.ParseAddresses(o.addresses) // check has read them
	o.guest.TakeSecrets()
	own, err := servers.Discover(ctx, list, o.guest)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, servers.ErrRemote):
		return nil, badInput(fmt.Errorf("--redis: %w", err), "a run loads its servers and writes to them; --allow-remote lets it, if you want that")
	case err != nil:
		return nil, badInput(fmt.Errorf("--redis: %w", err))
	}
	return own, nil
}
