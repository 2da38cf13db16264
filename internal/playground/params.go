package playground

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/scenarios"
)

// Param is one number of a scenario that a visitor may change.
type Param struct {
	Path  string   `json:"path"`            // "faults[0].for"
	Label string   `json:"label"`           // "for"
	Of    string   `json:"of"`              // "pause of client-1"
	About string   `json:"about,omitempty"` // a sentence or two
	Main  bool     `json:"main,omitempty"`  // one to try first
	Value string   `json:"value"`           // in the scenario as it is
	Stops []string `json:"stops"`           // what a slider offers, from the least on
}

// params describes the numbers of a scenario as it is. now has the values that a
// visitor has chosen, which are among the stops.
func params(s *scenarios.Scenario, now map[string]string) []Param {
	var all []Param
	for _, f := range numbers(s) {
		p := Param{Path: f.path, Value: f.text(), About: about(f.path)}
		p.Of, p.Label = called(s, f.path)
		p.Main = strings.HasPrefix(f.path, "faults[") && !strings.Contains(f.path, ".on.") && !strings.Contains(f.path, ".until.") ||
			slices.Contains([]string{"topology.clients", "topology.lag", "workload.holds", "workload.lease"}, f.path)
		p.Stops = f.stops(s, now[f.path])
		all = append(all, p)
	}
	return all
}

var place = regexp.MustCompile(`^(?:faults\[(\d+)\]|override\.(client-\d+)|([a-z]+))\.(.+)$`)

// called names the part of the scenario with a path, and its key there.
func called(s *scenarios.Scenario, path string) (of, label string) {
	m := place.FindStringSubmatch(path)
	switch {
	case m == nil:
		return "", path
	case m[2] != "":
		return m[2] + " alone", words(m[4])
	case m[3] != "":
		return m[3], words(m[4])
	}
	i, _ := strconv.Atoi(m[1])
	f := s.Faults[i]
	of = f.Fault
	if len(f.Target) > 0 {
		of += " of " + english.And(f.Target)
	}
	return of, words(m[4])
}

func words(key string) string {
	return strings.NewReplacer("_", " ", ".", " ", "[", " ", "]", "").Replace(key)
}

// schema has the descriptions that a scenario's JSON Schema gives.
var schema = sync.OnceValue(func() (s struct {
	Defs map[string]struct {
		Properties map[string]struct{ Description string }
	} `json:"$defs"`
}) {
	if err := json.Unmarshal(scenarios.Schema(), &s); err != nil {
		panic("playground: " + err.Error()) // it is embedded
	}
	return s
})

// about is the description of a key in the schema of scenarios.
func about(path string) string {
	def := "workload" // which an override changes
	switch {
	case strings.HasPrefix(path, "topology."):
		def = "topology"
	case strings.HasPrefix(path, "faults["):
		def = "fault"
	}
	keys := strings.FieldsFunc(path, func(r rune) bool { return strings.ContainsRune(".[]", r) })
	for _, key := range slices.Backward(keys) {
		if d := schema().Defs[def].Properties[key].Description; d != "" {
			return d
		}
		if d := schema().Defs["anchor"].Properties[key].Description; d != "" {
			return d
		}
	}
	return ""
}

var (
	numbered   = regexp.MustCompile(`\bclient-(\d+)\b`)
	replicated = regexp.MustCompile(`\breplica-(\d+)\b`)
)

// least is the smallest number of things that the rest of the scenario allows:
// what it names has to be there.
func least(s *scenarios.Scenario, path string) int {
	lo, _ := bounds(path)
	name := numbered
	switch path {
	case "topology.clients":
	case "topology.replicas":
		name = replicated
	default:
		return lo
	}
	c := *s
	c.Story, c.Title, c.Otherwise, c.Expect = "", "", "", nil
	src, err := c.YAML()
	if err != nil {
		return lo
	}
	for _, m := range name.FindAllStringSubmatch(string(src), -1) {
		if n, err := strconv.Atoi(m[1]); err == nil {
			lo = max(lo, n)
		}
	}
	return lo
}

// fine are the stops of a slider between a power of ten and the next.
var fine = []float64{1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.8, 2, 2.2, 2.5, 2.8, 3, 3.5, 4, 4.5, 5, 5.5, 6, 6.5, 7, 7.5, 8, 8.5, 9, 9.5}

var rates = []float64{0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 1, 1.01, 1.02, 1.05, 1.1, 1.2, 1.5, 2}

// stops are the values that a slider offers around the present one, and the one chosen
// now.
func (f field) stops(s *scenarios.Scenario, now string) []string {
	var all []float64
	value := f.number()
	switch f.v.Kind() {
	case reflect.Int:
		_, hi := bounds(f.path)
		for n := least(s, f.path); n <= min(hi, max(10, 2*int(f.v.Int()))); n++ {
			all = append(all, float64(n))
		}
	case reflect.Float64:
		all = slices.Clone(rates)
	default:
		all = times(f.path, value)
	}
	all = append(all, value)
	if now != "" {
		if other := (field{f.path, reflect.New(f.v.Type()).Elem()}); other.set(now) == nil {
			all = append(all, other.number())
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	return english.Words(all, func(x float64) string { return field{f.path, reflect.ValueOf(x).Convert(f.v.Type())}.text() })
}

// number is the value as a number: of a time, its nanoseconds.
func (f field) number() float64 { return f.v.Convert(reflect.TypeFor[float64]()).Float() }

// times are the stops of a time, from a hundredth of the value to ten times it.
func times(path string, value float64) []float64 {
	magnitude := math.Abs(value)
	lo, hi := max(magnitude/100, 1e6), min(max(magnitude*10, 1e9), float64(longest))
	var all []float64
	switch {
	case strings.HasSuffix(path, ".lease") || strings.Contains(path, ".nested["):
		lo = max(lo, float64(100*time.Millisecond))
	case value == 0:
		lo, hi = 1e6, float64(10*time.Second)
		all = append(all, 0)
	case !strings.HasSuffix(path, ".for"): // where 0 would be: without end
		all = append(all, 0)
	}
	for decade := math.Pow(10, math.Floor(math.Log10(lo))); decade <= hi; decade *= 10 {
		for _, m := range fine {
			if x := math.Round(m * decade); x >= lo && x <= hi {
				all = append(all, x)
				if signed(path) && value < 0 {
					all = append(all, -x)
				}
			}
		}
	}
	return all
}

// String is for messages of tests.
func (p Param) String() string { return fmt.Sprintf("%s of %s = %s", p.Label, p.Of, p.Value) }
