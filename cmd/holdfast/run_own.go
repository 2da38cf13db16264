package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/holdfast-go/holdfast/live"
	"github.com/holdfast-go/holdfast/scenarios"
)

// ownServers are the servers of the user's own that runs are played on, if any.
type ownServers struct {
	addresses []string
	remote    bool
	own       *live.Own // found at the addresses; nil without any
}

func (o *ownServers) flags(c *cobra.Command) {
	c.Flags().StringArrayVar(&o.addresses, "redis", nil,
		"live: play on servers of your own: redis://[USER:PASSWORD@]HOST:PORT (repeat it for locks on several), sentinel://HOST:PORT[,HOST:PORT...]/MASTER or cluster://HOST:PORT[,HOST:PORT...]")
	c.Flags().BoolVar(&o.remote, "allow-remote", false, "live: --redis may lead to another machine")
}

// parse reads the addresses, and never repeats a password.
func (o *ownServers) parse() ([]live.Address, error) {
	var list []live.Address
	for _, text := range o.addresses {
		a, err := live.ParseAddress(text)
		if err != nil {
			return nil, usage("--redis: "+err.Error(), "such as redis://127.0.0.1:6379; holdfast run --help shows the forms")
		}
		list = append(list, a)
	}
	return list, nil
}

func (o *ownServers) check(world string) error {
	switch {
	case len(o.addresses) > 0 && world != worldLive:
		return usage("--redis is for --world live; the simulator has servers of its own")
	case o.remote && len(o.addresses) == 0:
		return usage("--allow-remote is about the servers of --redis, and there are none")
	}
	_, err := o.parse()
	return err
}

// discover finds the servers, and looks whether they can be used.
func (o *ownServers) discover(ctx context.Context) error {
	list, err := o.parse()
	if err != nil || len(list) == 0 {
		return err
	}
	switch o.own, err = live.Discover(ctx, list, o.remote); {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, live.ErrRemote):
		return badInput(fmt.Errorf("--redis: %w", err), "a run loads its servers and writes to them; --allow-remote lets it, where that is what you want")
	case err != nil:
		return badInput(fmt.Errorf("--redis: %w", err))
	}
	return nil
}

// carry says whether the servers can carry a scenario with a lock, and why not.
func (o *ownServers) carry(s *scenarios.Scenario, lock string) (ok bool, reason string) {
	if o.own == nil {
		return true, ""
	}
	return s.CarriedBy(lock, o.own)
}

// words are the flags again, without names and passwords.
func (o *ownServers) words() []string {
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
