package main

import (
	"errors"
	"io/fs"
	"slices"

	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/internal/gallery"
	"github.com/holdfast-go/holdfast/internal/play/liveplay"
	"github.com/holdfast-go/holdfast/internal/redis/profile"
	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// pick finds the scenarios named on the command line; none means all.
func pick(args []string) ([]suite.Source, error) {
	list, err := suite.Pick(args)
	return list, notPlayed(err)
}

// notPlayed maps the error of runs before the first one, about their scenarios, their
// locks, or the directory; nil stays nil.
func notPlayed(err error) error {
	var nothing *suite.NothingError
	var lock *suite.UnknownLockError
	var adapter *liveplay.AdapterError
	var scenario *scenarios.UnknownScenarioError
	var server *profile.UnknownError
	switch {
	case err == nil:
		return nil
	case errors.As(err, new(*suite.TwiceError)):
		return usage(err.Error())
	case errors.As(err, &nothing):
		return usage(err.Error(), nothing.Reasons()...)
	case errors.As(err, &lock):
		return usage(err.Error(), didYouMean(lock.Name, slices.Concat(lock.Others, playable())), "holdfast list locks shows them all; holdfast list mutants those that are wrong on purpose")
	case errors.As(err, &adapter):
		return badInput(err, adapter.Hint)
	case errors.As(err, new(*suite.DirError)):
		return badOut(err)
	case errors.As(err, &server):
		return usage("--server: "+err.Error(), didYouMean(server.Name, profile.Names()), server.Hint())
	case errors.As(err, &scenario):
		return badInput(err, scenario.Hint())
	case errors.As(err, new(*fs.PathError)):
		return badInput(err, "a scenario is a built-in name, or a file; holdfast list scenarios shows the names")
	}
	return badInput(err)
}

// playable are the names of the locks that --lock accepts: the built-in ones, and
// those of the gallery.
func playable() []string {
	return slices.Concat(locks.Names(), []string{gallery.FairQueue}, english.Words(locks.Mutants(), func(m gallery.Mutant) string { return m.Name }))
}
