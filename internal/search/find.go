package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
)

// Find is a cause that a search has found.
type Find struct {
	Cause
	Count int `json:"count"` // runs
	// Under is the name of the simplest find that explains this one; empty when that is
	// this one.
	Under string `json:"under,omitempty"`
	// Shrunk is the smallest form of the first run; nil without a try, or after one in vain.
	Shrunk *Shrunk `json:"shrunk,omitempty"`
}

// Shrunk is the smallest run of a find.
type Shrunk struct {
	Cause         // that is left: often fewer faults
	Seed   uint64 `json:"seed"`
	Before Size   `json:"before"` // of the first run
	Size   Size   `json:"size"`
	Reason string `json:"reason"` // of the verdict
	// Scenario, History and Story are files, relative to the directory of the results. The
	// last one tells what happens, and has a test to paste.
	Scenario string `json:"scenario,omitempty"`
	History  string `json:"history,omitempty"`
	Story    string `json:"story,omitempty"`
	// Source and StoryText are the scenario and the story themselves, where a document has its
	// files in it.
	Source    string `json:"source,omitempty"`
	StoryText string `json:"story_text,omitempty"`
}

// Least is the cause with the fewest faults that is known to do.
func (f *Find) Least() Cause {
	if f.Shrunk != nil {
		return f.Shrunk.Cause
	}
	return f.Cause
}

// Found returns the find itself, of types that embed it.
func (f *Find) Found() *Find { return f }

type Finding interface {
	Found() *Find
	Name() string // unique among the finds of a search
}

// Explain names for every find a simpler one that explains it: the same violation after
// some of the same faults.
func Explain[F Finding](finds []F) {
	sorted := slices.Clone(finds)
	slices.SortStableFunc(sorted, SimplestFirst)
	for i, f := range sorted {
		f.Found().Under = ""
		for _, other := range sorted[:i] {
			if o := other.Found(); o.Under == "" && o.Least().Explains(f.Found().Least()) {
				f.Found().Under = other.Name()
				break
			}
		}
	}
}

// SimplestFirst orders finds, those with the fewest faults first, and of those the ones with
// the smallest runs.
func SimplestFirst[F Finding](a, b F) int {
	x, y := a.Found(), b.Found()
	size := 0
	if x.Shrunk != nil && y.Shrunk != nil {
		size = x.Shrunk.Size.compare(y.Shrunk.Size)
	}
	return cmp.Or(x.Least().Compare(y.Least()), size, x.Cause.Compare(y.Cause))
}

// ErrNotAgain says that a find did not show its violation a second time.
var ErrNotAgain = errors.New("the find does not repeat")

// ShrinkFinds has small make finds as small as they can be, those with the fewest faults
// first. It leaves out those that are not wanted, and those that an earlier one explains:
// a shrunk find often explains others. An error of small that is [ErrNotAgain] is a defect of Holdfast, and is among
// those that ShrinkFinds returns. It calls progress before each. When ctx ends it leaves the
// rest as they are.
func ShrinkFinds[F Finding](ctx context.Context, finds []F, wanted func(F) bool, small func(context.Context, F) (*Shrunk, error), progress func(string)) (defects []string, err error) {
	rest := slices.Clone(finds)
	for Explain(finds); len(rest) > 0; Explain(finds) {
		slices.SortStableFunc(rest, SimplestFirst)
		f := rest[0]
		rest = rest[1:]
		if f.Found().Under != "" || f.Found().Shrunk != nil || !wanted(f) {
			continue
		}
		if ctx.Err() != nil {
			break
		}
		progress("shrinking: " + f.Found().Cause.String())
		left, err := small(ctx, f)
		switch {
		case ctx.Err() != nil:
			return defects, nil
		case errors.Is(err, ErrNotAgain):
			defects = append(defects, fmt.Sprintf("%s, shrunk: %v", f.Name(), err))
		case err != nil:
			return defects, fmt.Errorf("shrink %s: %w", f.Name(), err)
		default:
			f.Found().Shrunk = left
		}
	}
	return defects, nil
}

// ByFaults groups finds by the faults that they take. The faults before most violations
// come first.
func ByFaults[F Finding](finds []F) [][]F {
	var groups [][]F
	total := map[string]int{}
	for _, f := range finds {
		after := f.Found().Least().After()
		total[after] += f.Found().Count
		i := slices.IndexFunc(groups, func(g []F) bool { return g[0].Found().Least().After() == after })
		if i < 0 {
			i = len(groups)
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], f)
	}
	slices.SortStableFunc(groups, func(a, b []F) int {
		return total[b[0].Found().Least().After()] - total[a[0].Found().Least().After()]
	})
	return groups
}

func Pointers[T any](list []T) []*T {
	all := make([]*T, len(list))
	for i := range list {
		all[i] = &list[i]
	}
	return all
}
