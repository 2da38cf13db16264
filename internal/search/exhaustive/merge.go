package exhaustive

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/internal/input"
)

// Merged is what shards have shown together.
type Merged struct {
	// Results add the shards up; they follow from them.
	Results
	Shards []Results `json:"shards"` // in order
	// Missing are the shards that are not there, or were interrupted.
	Missing []int `json:"missing,omitempty"`
}

// documents is the strictness of reading results: a later version may have written
// more.
var documents = input.JSON{Unknown: true, Null: true}

// Read reads the results in a directory: of one command, or of several merged
// ones.
func Read(dir string) (Merged, error) {
	var m Merged
	doc, err := input.ReadFile(filepath.Join(dir, Directory.Index), input.MaxDocument)
	if err == nil && !json.Valid(doc) {
		err = fmt.Errorf("%s %w", Directory.Index, ErrDamaged)
	}
	if err == nil {
		err = documents.Unmarshal(doc, &m)
	}
	if err == nil && m.Schema != Schema {
		err = errors.New(input.Sprintf("the schema is %q, not %q", m.Schema, Schema))
	}
	if err != nil {
		return m, fmt.Errorf("read results of %s: %w", dir, err)
	}
	if where := negative(reflect.ValueOf(m)); where != "" {
		return m, fmt.Errorf("read results of %s: the number %q is below 0", dir, where)
	}
	if len(m.Shards) == 0 {
		m.Shards = []Results{m.Results}
	}
	return m, nil
}

// ErrDamaged says that a file of results is not whole.
var ErrDamaged = errors.New("is damaged: it is no JSON document")

// negative names a number below 0, "" if there is none. It passes over the N of a cause,
// which is below 0 for a base without a fault.
func negative(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Int, reflect.Int64:
		if v.Int() < 0 {
			return fmt.Sprint(v.Int())
		}
	case reflect.Float64:
		if v.Float() < 0 {
			return fmt.Sprint(v.Float())
		}
	case reflect.Pointer:
		if !v.IsNil() {
			return negative(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			if where := negative(v.Index(i)); where != "" {
				return where
			}
		}
	case reflect.Map:
		for _, key := range slices.SortedFunc(slices.Values(v.MapKeys()), func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) }) {
			if where := negative(v.MapIndex(key)); where != "" {
				return key.String() + ": " + where
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if where := negative(v.Field(i)); where != "" && f.Name != "N" {
				name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
				return strings.Trim(name+": "+where, ": ")
			}
		}
	}
	return ""
}

// Before are the results with which a command continues; nil if there are none, or
// if they are complete.
func Before(dir string) (*Results, error) {
	if _, err := os.Stat(filepath.Join(dir, Directory.Index)); errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	m, err := Read(dir)
	if err != nil {
		return nil, err
	}
	if len(m.Shards) > 1 {
		return nil, fmt.Errorf("%w: %s holds several shards, joined", ErrOther, dir)
	}
	return &m.Shards[0], nil
}

// Merge merges the results in directories. A shard that appears twice counts once:
// the result with more runs. Order and repetition do not change the result.
func Merge(dirs []string) (Merged, error) {
	var shards []Results
	for _, dir := range dirs {
		m, err := Read(dir)
		if err != nil {
			return Merged{}, err
		}
		for _, s := range m.Shards {
			if len(shards) > 0 {
				if what := shards[0].differs(s); what != "" {
					return Merged{}, fmt.Errorf("they are shards of different commands: %s", what)
				}
			}
			i, twice := slices.BinarySearchFunc(shards, s.Shard, func(r Results, shard int) int { return r.Shard - shard })
			switch {
			case !twice:
				shards = slices.Insert(shards, i, s)
			case shards[i].Done == s.Done && !reflect.DeepEqual(shards[i].Total(), s.Total()):
				return Merged{}, fmt.Errorf("shard %d is there twice, and not the same", s.Shard)
			case s.Done > shards[i].Done || s.Done == shards[i].Done && !s.Interrupted:
				shards[i] = s
			}
		}
	}
	if len(shards) == 0 {
		return Merged{}, errors.New("there is nothing to join")
	}
	return sum(shards), nil
}

// differs names the difference between the commands of two results, or "".
func (r Results) differs(o Results) string {
	names := func(r Results) []string {
		var all []string
		for _, b := range r.Bases {
			all = append(all, b.Name)
		}
		return all
	}
	for _, f := range []struct {
		what string
		a, b any
	}{
		{"version", r.Version, o.Version}, {"lock", r.Lock, o.Lock}, {"depth", r.Depth, o.Depth}, {"number of shards", r.Of, o.Of},
		{"vocabulary", r.Faults, o.Faults}, {"list of durations", r.Durations, o.Durations}, {"list of bases", names(r), names(o)},
	} {
		if !reflect.DeepEqual(f.a, f.b) {
			return fmt.Sprintf("the %s is %v in one and %v in the other", f.what, f.a, f.b)
		}
	}
	return ""
}

// sum adds up shards in their order.
func sum(shards []Results) Merged {
	all := shards[0]
	all.Shard, all.Done, all.Commands, all.VirtualMS, all.WallMS, all.Interrupted = 0, 0, 0, 0, 0, false
	all.Command, _, _ = strings.Cut(all.Command, " --shard ")
	all.Violated, all.Inherent, all.Unknown, all.Audit, all.Defects, all.Places = []Cause{}, []Cause{}, map[string]int{}, Audit{}, nil, nil
	all.Bases = slices.Clone(all.Bases)
	for i := range all.Bases {
		all.Bases[i].Runs = Runs{}
	}
	m := Merged{Shards: shards}
	there := map[int]bool{}
	for _, s := range shards {
		there[s.Shard] = !s.Interrupted
		all.Interrupted = all.Interrupted || s.Interrupted
		all.Done += s.Done
		all.Commands += s.Commands
		all.VirtualMS += s.VirtualMS
		all.WallMS += s.WallMS
		all.Defects = append(all.Defects, s.Defects...)
		all.Audit.Played += s.Audit.Played
		all.Audit.Differences = append(all.Audit.Differences, s.Audit.Differences...)
		all.Unknown = both(all.Unknown, s.Unknown)
		for i, b := range s.Bases {
			sum := &all.Bases[i]
			sum.add(b.Runs)
			if b.Placements > sum.Placements { // one was interrupted before it knew
				sum.Moments, sum.Placements, sum.NotPlayed = b.Moments, b.Placements, maps.Clone(b.NotPlayed)
			}
		}
		for _, p := range s.Places {
			all.Places = place(all.Places, p)
		}
		for _, c := range s.Violated {
			all.Violated = add(all.Violated, c)
		}
		for _, c := range s.Inherent {
			all.Inherent = add(all.Inherent, c)
		}
	}
	often(all.Violated)
	often(all.Inherent)
	explain(all.Violated)
	m.Results = all
	for i := 1; i <= all.Of; i++ {
		if !there[i] {
			m.Missing = append(m.Missing, i)
		}
	}
	return m
}
