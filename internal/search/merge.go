package search

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Merge joins results of shards of one search. The order and the number of merges do not
// change the result. Of two plays of a shard the one that played more counts. The error
// names a difference: of the searches, or of two plays of a shard.
func Merge[R Results[R]](all ...R) (R, error) {
	var none R
	var shards []R
	for _, r := range all {
		for _, s := range r.Parts() {
			if len(shards) > 0 {
				if what := Difference(shards[0], s); what != "" {
					return none, fmt.Errorf("they are shards of different searches: %s", what)
				}
			}
			number := s.Common().Shard
			i, twice := slices.BinarySearchFunc(shards, number, func(r R, n int) int { return r.Common().Shard - n })
			if !twice {
				shards = slices.Insert(shards, i, s)
				continue
			}
			longer, err := longerOf(shards[i], s)
			if err != nil {
				return none, fmt.Errorf("shard %d is there twice, and not the same: %w", number, err)
			}
			shards[i] = longer
		}
	}
	if len(shards) == 0 {
		return none, errors.New("there is nothing to join")
	}
	return sum(shards), nil
}

func sum[R Results[R]](shards []R) R {
	e := shards[0].Common()
	e.Shard, e.Interrupted, e.Missing = 0, false, nil
	var commands []string
	whole := map[int]bool{}
	for _, s := range shards {
		one := s.Common()
		commands = append(commands, one.Command)
		whole[one.Shard] = s.Whole()
		e.Interrupted = e.Interrupted || one.Interrupted
	}
	for i := 1; i <= e.Of; i++ {
		if !whole[i] {
			e.Missing = append(e.Missing, i)
		}
	}
	e.Command = strings.Join(slices.Compact(commands), " && ")
	return shards[0].Sum(e, shards)
}

// Difference names the first difference of the searches of two results, or returns "".
func Difference[R Results[R]](a, b R) string {
	options := func(r R) []Option {
		e := r.Common()
		return append([]Option{{"version", e.Version}, {"number of shards", e.Of}}, r.About()...)
	}
	others := options(b)
	for i, o := range options(a) {
		if reflect.DeepEqual(o.Value, others[i].Value) {
			continue
		}
		one, other := fmt.Sprint(o.Value), fmt.Sprint(others[i].Value)
		if strings.Contains(one+other, "\n") {
			return fmt.Sprintf("the %s of one is not that of the other", o.Name)
		}
		return fmt.Sprintf("the %s is %s in one and %s in the other", o.Name, one, other)
	}
	return ""
}

// longerOf is the one of two plays of a shard that contains the other.
func longerOf[R Results[R]](a, b R) (R, error) {
	if a.Played() > b.Played() {
		a, b = b, a
	}
	what := a.Exceeds(b)
	if a.Played() == b.Played() {
		what = cmp.Or(what, b.Exceeds(a))
	}
	if what != "" {
		return b, fmt.Errorf("%s differs, after %d and %d runs", what, a.Played(), b.Played())
	}
	if a.Played() < b.Played() || b.Whole() && !a.Whole() {
		return b, nil
	}
	if a.Whole() == b.Whole() && bytes.Compare(encode(b), encode(a)) < 0 { // the same in every order
		return b, nil
	}
	return a, nil
}

func encode(r any) []byte {
	doc, err := json.Marshal(r)
	if err != nil {
		panic("search: write results: " + err.Error()) // they were read from JSON
	}
	return doc
}
