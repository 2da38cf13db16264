package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/holdfast-go/holdfast/live/servers"
	"github.com/holdfast-go/holdfast/suite/realtime"
)

// externalServers say where servers of the user's own are, if runs are to be played
// on any.
type externalServers struct {
	addresses []string
	remote    bool
}

func (o *externalServers) flags(c *cobra.Command) {
	c.Flags().StringArrayVar(&o.addresses, "redis", nil,
		"live: play on servers of your own: redis://[USER:PASSWORD@]HOST:PORT (repeat it for locks on several), sentinel://HOST:PORT[,HOST:PORT...]/MASTER or cluster://HOST:PORT[,HOST:PORT...]")
	c.Flags().BoolVar(&o.remote, "allow-remote", false, "live: --redis may lead to another machine")
}

func (o externalServers) given() bool { return len(o.addresses) > 0 }

// parse reads the addresses, and never repeats a password.
func (o externalServers) parse() ([]servers.Address, error) {
	var list []servers.Address
	for _, text := range o.addresses {
		a, err := servers.ParseAddress(text)
		if err != nil {
			return nil, usage("--redis: "+err.Error(), "such as redis://127.0.0.1:6379; holdfast run --help shows the forms")
		}
		list = append(list, a)
	}
	return list, nil
}

// check says what is wrong with the flags.
func (o externalServers) check(f runFlags) error {
	switch {
	case o.given() && f.world != worldLive:
		return usage("--redis is for --world live; the simulator has servers of its own")
	case o.given() && f.backend != realtime.AutoBackend:
		return usage("--backend says what servers to start, and --redis to start none: leave one of them out")
	case o.remote && !o.given():
		return usage("--allow-remote is about the servers of --redis, and there are none")
	}
	_, err := o.parse()
	return err
}

// discover finds the servers, and looks whether they can be used.
func (o externalServers) discover(ctx context.Context) (*servers.External, error) {
	list, err := o.parse()
	if err != nil {
		return nil, err
	}
	own, err := servers.Discover(ctx, list, o.remote)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, servers.ErrRemote):
		return nil, badInput(fmt.Errorf("--redis: %w", err), "a run loads its servers and writes to them; --allow-remote lets it, where that is what you want")
	case err != nil:
		return nil, badInput(fmt.Errorf("--redis: %w", err))
	}
	return own, nil
}

// words are the flags again, without names and passwords.
func (o externalServers) words() []string {
	list, _ := o.parse() // they have been read before
	var words []string
	for _, a := range list {
		words = append(words, "--redis", a.String())
	}
	if o.remote {
		words = append(words, "--allow-remote")
	}
	return words
}
