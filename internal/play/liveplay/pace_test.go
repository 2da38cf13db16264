package liveplay

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// visit calls f with everything in v that has no parts, by its path. When filling, it
// fills nil and empty values first.
func visit(path string, v reflect.Value, filling bool, f func(path string, v reflect.Value)) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if field := v.Type().Field(i); field.IsExported() {
				visit(path+"."+field.Name, v.Field(i), filling, f)
			}
		}
	case reflect.Pointer:
		if filling {
			v.Set(reflect.New(v.Type().Elem()))
		}
		visit(path, v.Elem(), filling, f)
	case reflect.Slice:
		if filling {
			v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		}
		for i := range v.Len() {
			visit(fmt.Sprintf("%s[%d]", path, i), v.Index(i), filling, f)
		}
	case reflect.Map:
		key := reflect.ValueOf("client-1")
		own := reflect.New(v.Type().Elem()).Elem()
		if filling {
			v.Set(reflect.MakeMap(v.Type()))
		} else {
			own.Set(v.MapIndex(key))
		}
		visit(path+"[client-1]", own, filling, f)
		v.SetMapIndex(key, own)
	default:
		f(path, v)
	}
}

// whole is a scenario in which nothing is left out, every time being another.
func whole() *scenarios.Scenario {
	s, n := &scenarios.Scenario{}, 0
	visit("", reflect.ValueOf(s).Elem(), true, func(path string, v reflect.Value) {
		n++
		switch {
		case v.Type() == reflect.TypeFor[faults.Duration]():
			v.SetInt(int64(time.Duration(n) * time.Second))
		case v.CanInt():
			v.SetInt(int64(n))
		case v.CanFloat():
			v.SetFloat(float64(n))
		case v.Kind() == reflect.Bool:
			v.SetBool(true)
		case v.Kind() == reflect.String:
			v.SetString(fmt.Sprint("text ", n))
		default:
			panic("no value for " + path)
		}
	})
	return s
}

// A time that is not scaled with the others makes another scenario of it.
func TestScaleIsOfEveryTimeAndOfNothingElse(t *testing.T) {
	s := whole()
	scaled := s.AtScale(0.5)
	if d := cmp.Diff(whole(), s, cmp.AllowUnexported(scenarios.Scenario{})); d != "" {
		t.Errorf("the scenario itself has changed: %s", d)
	}
	if scaled.Scale != 0.5 || scaled.Scaled(time.Minute) != 30*time.Second {
		t.Errorf("the scale is %g, and a minute is %s", scaled.Scale, scaled.Scaled(time.Minute))
	}
	want, times := whole(), 0
	want.Scale = 0.5
	visit("", reflect.ValueOf(want).Elem(), false, func(_ string, v reflect.Value) {
		if v.Type() == reflect.TypeFor[faults.Duration]() {
			v.SetInt(v.Int() / 2)
			times++
		}
	})
	if d := cmp.Diff(want, scaled, cmp.AllowUnexported(scenarios.Scenario{})); d != "" {
		t.Errorf("not every time, or something else: %s", d)
	}
	if times < 30 {
		t.Errorf("there are only %d times: the test sees little", times)
	}
}

func TestOwnPaceChangesNothing(t *testing.T) {
	want := whole()
	want.Scale = 1
	if d := cmp.Diff(want, whole().AtScale(1), cmp.AllowUnexported(scenarios.Scenario{})); d != "" {
		t.Error(d)
	}
}

// parse reads a scenario in which some lines are other than usual.
func parse(t *testing.T, lease, more string) *scenarios.Scenario {
	t.Helper()
	s, err := scenarios.Parse("mine.yaml", []byte(`
scenario: mine
title: Mine
story: Mine.
topology: {clients: 2, replicas: 1}
workload: {holds: 1, lease: `+lease+`, wait: 10s, think: 100ms}
otherwise: Nothing goes wrong.
`+more))
	must.Succeed(t, err)
	return s
}

func TestPaceSuitsWhatServersHaveToDo(t *testing.T) {
	restart := "faults: [{fault: node-restart, target: node-1, data: keep, at: 1s, for: 1s}]"
	failover := "faults: [{fault: failover, target: node-1, at: 1s}]"
	for _, c := range []struct {
		name, lease, more, lock string
		want                    float64
	}{
		{"nothing takes its own time", "10s", "", "reentrant", quick},
		{"a server comes back", "10s", restart, "reentrant", quick},
		{"a server comes back, and its replica has to find it", "10s", restart, "reentrant-wait", asWritten},
		{"others have to notice a death", "10s", failover, "reentrant", unhurried},
		{"the lease is short", "1s", "", "reentrant", 0.4},
		{"the lease is short, and others have to notice a death", "1s", failover, "reentrant", unhurried},
		{"the lease is too short even as written", "300ms", "", "reentrant", 4. / 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := parse(t, c.lease, c.more)
			if got := pace(s, locks.MustFind(c.lock)); got != c.want {
				t.Errorf("the pace is %g, want %g", got, c.want)
			}
			if err := checkPace(s, pace(s, locks.MustFind(c.lock))); err != nil {
				t.Error(err)
			}
		})
	}
	for _, s := range scenarios.Catalogue() {
		for _, lock := range locks.Names() {
			if err := checkPace(s, pace(s, locks.MustFind(lock))); err != nil {
				t.Errorf("%s with %s: %v", s.Name, lock, err)
			}
		}
	}
}

// A lease that ends because the machine is slow would be a violation of a promise that no
// lock gave.
func TestPaceThatIsTooQuickIsRefused(t *testing.T) {
	for _, c := range []struct {
		name, lease, more string
		scale             float64
		want              string // "" when it is allowed
	}{
		{"just long enough", "10s", "", 0.04, ""},
		{"not quite", "10s", "", 0.0399, "at a time scale of 0.0399 the lease of 10s lasts 399ms: it must be at least 400ms"},
		{"one client's own", "10s", "override: {client-2: {lease: 2s}}", 0.1, "the lease of 2s lasts 200ms"},
		{"a longer one of a client", "10s", "override: {client-2: {lease: 20s}}", 0.04, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := parse(t, c.lease, c.more)
			err := checkPace(s, c.scale)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
	nested := parse(t, "10s", "")
	nested.Workload.Nested = []faults.Duration{0, faults.Duration(3 * time.Second)} // 0 is the workload's
	if err := checkPace(nested, 0.1); err == nil || !strings.Contains(err.Error(), "the lease of 3s lasts 300ms") {
		t.Errorf("a nested lease of 3s: %v", err)
	}
}
