package exhaustive

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/internal/search"
)

// ErrNotAgain says that a find did not show its violation a second time.
var ErrNotAgain = errors.New("the find does not repeat")

// Shrink has small make the finds as small as they can be, those with the fewest faults
// first. It leaves out those that an earlier one explains: the same went wrong after some
// of the same faults. An error of small that is [ErrNotAgain] is a defect of Holdfast.
// Shrink calls progress before each. When ctx ends it leaves the rest as they are.
func (r *Results) Shrink(ctx context.Context, small func(context.Context, *Cause) (*Shrunk, error), progress func(string)) error {
	for _, i := range simple(r.Violated) {
		c := &r.Violated[i]
		explain(r.Violated)
		if c.Under != "" || c.Shrunk != nil || c.Source == "" || c.Class == search.NeverEnded {
			continue
		}
		if ctx.Err() != nil {
			return nil
		}
		progress("shrinking: " + string(c.Property) + " after " + strings.Join(c.Faults, ", "))
		left, err := small(ctx, c)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, ErrNotAgain):
			r.Defects = append(r.Defects, fmt.Sprintf("%s, shrunk: %v", c.First, err))
		case err != nil:
			return fmt.Errorf("shrink %s: %w", c.First, err)
		default:
			c.Shrunk = left
		}
	}
	explain(r.Violated)
	return nil
}

// simple are the places of causes, those with the fewest faults first.
func simple(causes []Cause) []int {
	all := make([]int, len(causes))
	for i := range all {
		all[i] = i
	}
	slices.SortStableFunc(all, func(a, b int) int { return search.Simpler(causes[a].Least(), causes[b].Least()) })
	return all
}

// explain says of each cause which simpler one explains it.
func explain(causes []Cause) {
	order := simple(causes)
	for k, i := range order {
		causes[i].Under = ""
		for _, j := range order[:k] {
			if causes[j].Under == "" && causes[j].Least().Explains(causes[i].Least()) {
				causes[i].Under = causes[j].First
				break
			}
		}
	}
}
