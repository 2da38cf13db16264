package exhaustive

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/internal/search"
)

func (r Results) About() []search.Option {
	bases := english.Words(r.Bases, func(b BaseCounts) string { return b.Name })
	return []search.Option{{Name: "lock", Value: r.Lock}, {Name: "depth", Value: r.Depth}, {Name: "vocabulary", Value: r.Faults}, {Name: "list of durations", Value: r.Durations}, {Name: "list of bases", Value: bases}}
}

func (r Results) Parts() []Results {
	if len(r.Shards) > 0 {
		return r.Shards
	}
	return []Results{r}
}

func (r Results) Played() int { return r.Done }
func (r Results) Whole() bool { return !r.Interrupted }

func (r Results) Flaws() []string {
	flaws := slices.Clone(r.Defects)
	return append(flaws, english.Words(r.Audit.Differences, func(d string) string { return "the audit found a difference: " + d })...)
}

func (r Results) Exceeds(longer Results) string {
	a, b := r.Total(), longer.Total()
	for _, f := range []struct {
		what string
		a, b int
	}{
		{"played", a.Played, b.Played}, {"outlasted", a.Outlasted, b.Outlasted}, {"not_struck", a.NotStruck, b.NotStruck},
		{"unknown", a.Unknown, b.Unknown}, {"inherent", a.Inherent, b.Inherent}, {"violated", a.Violated, b.Violated},
	} {
		if f.a > f.b {
			return f.what
		}
	}
	return ""
}

func (r Results) Check() error {
	if where := negative(reflect.ValueOf(r)); where != "" {
		return fmt.Errorf("the number %q is below 0", where)
	}
	return nil
}

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

func (r Results) Sum(e search.Envelope, shards []Results) Results {
	all := r
	all.Envelope, all.Shards, all.Done, all.Commands, all.VirtualMS, all.WallMS = e, shards, 0, 0, 0, 0
	all.Violated, all.Inherent, all.Unknown, all.Audit, all.Defects, all.Places = []Cause{}, []Cause{}, map[string]int{}, Audit{}, nil, nil
	all.Bases = slices.Clone(all.Bases)
	for i := range all.Bases {
		all.Bases[i].Runs = Runs{}
	}
	for _, s := range shards {
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
	search.Explain(search.Pointers(all.Violated))
	all.files()
	return all
}
