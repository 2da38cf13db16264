package playground

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/scenarios"
)

// field is one number of a scenario: a time, a count or a rate.
type field struct {
	path string // as in "faults[0].on.nth"
	v    reflect.Value
}

var durationType = reflect.TypeFor[faults.Duration]()

// always are the fields that a visitor may change also where a scenario leaves
// them out.
var always = []string{"topology.lag", "workload.lease", "workload.wait", "workload.think", "workload.rest"}

// numbers lists the fields that a visitor may change: those that the scenario
// has, and those of always. Setting a field changes the scenario.
func numbers(s *scenarios.Scenario) []field {
	var all []field
	add := func(f field) {
		switch {
		case f.path == "workload.min_grants": // says what a run is worth, and changes none
		case f.path == "workload.rest" && s.Workload.Herd: // a herd does not rest
		case f.path == "topology.lag" && s.Topology.Replicas == 0:
		case !f.v.IsZero(), slices.Contains(always, f.path):
			all = append(all, f)
		}
	}
	visit(reflect.ValueOf(&s.Topology).Elem(), "topology", add)
	visit(reflect.ValueOf(&s.Workload).Elem(), "workload", add)
	visit(reflect.ValueOf(&s.Override).Elem(), "override", add)
	visit(reflect.ValueOf(&s.Faults).Elem(), "faults", add)
	return all
}

// visit calls add for every number in v. A path has the keys of the YAML.
func visit(v reflect.Value, path string, add func(field)) {
	switch {
	case v.Type() == durationType, v.Kind() == reflect.Int, v.Kind() == reflect.Float64:
		add(field{path, v})
	case v.Kind() == reflect.Pointer && !v.IsNil():
		visit(v.Elem(), path, add)
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			key, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("yaml"), ",")
			visit(v.Field(i), path+"."+key, add)
		}
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			visit(v.Index(i), fmt.Sprintf("%s[%d]", path, i), add)
		}
	case v.Type() == reflect.TypeFor[map[string]scenarios.Override]():
		for _, name := range slices.Sorted(maps.Keys(v.Interface().(map[string]scenarios.Override))) {
			// Its values are pointers, so that the copy changes the original.
			visit(v.MapIndex(reflect.ValueOf(name)), path+"."+name, add)
		}
	}
}

// text is the value as a visitor reads and writes it.
func (f field) text() string {
	switch f.v.Kind() {
	case reflect.Int:
		return strconv.FormatInt(f.v.Int(), 10)
	case reflect.Float64:
		return strconv.FormatFloat(f.v.Float(), 'g', -1, 64)
	}
	return brief(time.Duration(f.v.Int()))
}

// brief is a time without the units that are zero: "1m" and not "1m0s".
func brief(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// set reads a value within the limits. The error says what is wrong with it.
func (f field) set(text string) error {
	switch f.v.Kind() {
	case reflect.Int:
		n, err := strconv.Atoi(text)
		if lo, hi := bounds(f.path); err != nil || n < lo || n > hi {
			return refuse("%s must be a whole number from %d to %d", f.path, lo, hi)
		}
		f.v.SetInt(int64(n))
	case reflect.Float64:
		x, err := strconv.ParseFloat(text, 64)
		if err != nil || !(x >= slowest && x <= fastest) {
			return refuse("%s must be a number from %v to %v", f.path, slowest, fastest)
		}
		f.v.SetFloat(x)
	default:
		d, err := faults.ParseDuration(text)
		lowest := time.Duration(0)
		if signed(f.path) {
			lowest = -longest
		}
		if err != nil || time.Duration(d) < lowest || time.Duration(d) > longest {
			return refuse("%s must be a time from %s to %s, such as 1.5s", f.path, brief(lowest), brief(longest))
		}
		f.v.SetInt(int64(d))
	}
	return nil
}

func signed(path string) bool { return strings.HasSuffix(path, "].by") }
