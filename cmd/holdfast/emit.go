package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-go/holdfast/internal/search/explore/emit"
)

// emits reports whether other machines are to play the exploration: the user gave
// --emit or one of its flags.
func emits(c *cobra.Command) bool {
	return slices.ContainsFunc([]string{"emit", "shards", "image"}, c.Flags().Changed)
}

// emitExplore writes the files with which an engine plays the exploration. It
// plays nothing itself.
func emitExplore(c *cobra.Command, f exploreFlags) error {
	e, err := f.engine(c.Flags().Changed)
	if err != nil {
		return err
	}
	m := newEmission(f, e, c.Flags().Changed)
	if f.out == "" {
		if err := m.Write(c.OutOrStdout()); err != nil {
			return defect(fmt.Errorf("print files of %s: %w", e.Name, err))
		}
		return nil
	}
	paths, err := m.Save(f.out)
	if err != nil {
		return badInput(err, "choose another directory with --out", "--emit replaces only files that it wrote")
	}
	_, err = fmt.Fprintln(c.OutOrStdout(), strings.Join(paths, "\n"))
	return err
}

// engine names the engine for the shards. The error says why it cannot play them.
func (f *exploreFlags) engine(given func(flag string) bool) (emit.Engine, error) {
	if !given("emit") {
		return emit.Engine{}, usage("--shards and --image go with --emit", "--emit writes what "+strings.Join(emit.Names(), " or ")+" needs; --shard I/N plays one of N shards here")
	}
	i := slices.Index(emit.Names(), f.emit)
	if i < 0 {
		return emit.Engine{}, usage(fmt.Sprintf("--emit %s: must be one of %s", f.emit, strings.Join(emit.Names(), ", ")), didYouMean(f.emit, emit.Names()))
	}
	e := emit.Engines[i]
	switch {
	case given("shard"):
		return e, usage("--shard does not go with --emit", "--shards N says how many shards there are; what is written plays each of them")
	case given("known"):
		return e, usage("--known does not go with --emit: the shards do not have that file", "leave it out; what is known is found again")
	case given("format"):
		return e, usage("--format does not go with --emit", "what is written is YAML")
	case given("image") && !e.Image:
		return e, usage("--image does not go with --emit "+e.Name, "it builds holdfast from its source")
	case !emit.ImageName.MatchString(f.image):
		return e, usage(fmt.Sprintf("--image %q is not the name of an image", f.image), "such as --image registry.example.com/holdfast:"+version)
	case f.shards < 1 || f.shards > e.Most:
		return e, usage(fmt.Sprintf("--shards must be from 1 to %d with --emit %s", e.Most, e.Name))
	case f.runs > 0 && f.runs < f.shards:
		return e, usage(fmt.Sprintf("%d shards of %d runs: some would have none", f.shards, f.runs), "give more --runs, or fewer --shards")
	}
	return e, nil
}

func newEmission(f exploreFlags, e emit.Engine, given func(flag string) bool) emit.Exploration {
	words := []string{exploreCommand(f)}
	if given("stall") {
		words = append(words, "--stall", f.pool.stall.String())
	}
	switch {
	case given("workers"):
		words = append(words, "--workers", fmt.Sprint(f.pool.workers))
	case e.Image: // a pod sees all cores of its node, whatever it has asked for
		f.pool.workers = 1
		words = append(words, "--workers 1")
	}
	explore := strings.Join(words, " ")
	by := fmt.Sprintf("%s --emit %s --shards %d", explore, e.Name, f.shards)
	if e.Image {
		by += " --image " + f.image
	}
	return emit.Exploration{
		Engine: e,
		By:     by, Explore: explore, Name: fmt.Sprintf("%s-%d", f.lock, f.seed), Lock: f.lock, Shards: f.shards,
		Image: f.image, CPUs: f.pool.workers, MemoryMiB: 128 + 128*f.pool.workers, // about twice the measured memory
	}
}
