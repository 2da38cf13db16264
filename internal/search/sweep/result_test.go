package sweep

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/internal/suite"
)

// made is a result with so many overlaps of 10 runs at each point, without playing.
func made(t *testing.T, over []string, overlaps ...int) *Result {
	t.Helper()
	p, err := NewPlan(load(t, "pause-at-random"), over)
	must.Succeed(t, err)
	r, err := newResult(Options{Plan: p, Lock: "reentrant", Command: "holdfast sweep pause-at-random", Over: over, Seed: 1, Seeds: 10, Shard: suite.Shard{Index: 1, Of: 1}})
	must.Succeed(t, err)
	var counts []Count
	for _, n := range overlaps {
		counts = append(counts, Count{Runs: 10, Overlaps: n})
	}
	if counts != nil {
		r.take(counts)
	}
	return r
}

func TestResultIsReadAgain(t *testing.T) {
	r := made(t, []string{"pause=5s,8s,10s", "lease=8s,10s"}, 0, 3, 9, 0, 1, 10)
	second := r.plan.Points()[0][1]
	r.Boundaries = []boundary{{Second: &second, Without: 5, With: 6, CountWithout: Count{Runs: 10}, CountWith: Count{Runs: 10, Overlaps: 10}}}
	doc, err := json.Marshal(r)
	must.Succeed(t, err)
	again, err := Kind.Decode(doc)
	must.Succeed(t, err)
	if !reflect.DeepEqual(again.Points, r.Points) || !reflect.DeepEqual(again.Boundaries, r.Boundaries) || !slices.Equal(again.Sentences(), r.Sentences()) {
		t.Errorf("%+v, want %+v", again, r)
	}
	text := strings.Replace(string(doc), `"counts":[`, `"counts":[{},`, 1)
	if _, err := Kind.Decode([]byte(text)); err == nil || !strings.Contains(err.Error(), "shard 1 has 7 counts for 6 points") {
		t.Errorf("%v", err)
	}
}

// Pictures and pages are whole, and the same every time, for whatever may come.
func TestPictures(t *testing.T) {
	unknown := func(over ...string) *Result {
		r := made(t, over)
		r.take([]Count{{Runs: 9, OverlapsUnknown: 9, LostUnknown: 9}, {Runs: 9}})
		return r
	}
	for name, r := range map[string]*Result{
		"curve":         made(t, []string{"pause=5s,8s"}, 0, 3),
		"by ratio":      made(t, []string{"pause=5s~8s:2"}, 1, 3),
		"one value":     made(t, []string{"pause=5s"}, 3),
		"none":          made(t, []string{"pause=5s,8s"}, 0, 0),
		"all":           made(t, []string{"pause=5s,8s"}, 10, 10),
		"nothing yet":   made(t, []string{"pause=5s,8s"}),
		"partly":        unknown("pause=5s,8s"),
		"numbers":       made(t, []string{"replicas=1..3"}, 0, 1, 3),
		"heat map":      made(t, []string{"pause=5s,8s", "lease=8s,10s"}, 0, 3, 9, 0),
		"row":           made(t, []string{"pause=5s,8s", "lease=8s"}, 0, 3),
		"heat map of ?": unknown("pause=5s", "lease=8s,9s"),
	} {
		picture, err := r.Picture()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		in := xml.NewDecoder(bytes.NewReader(picture))
		for err == nil {
			_, err = in.Token()
		}
		if !errors.Is(err, io.EOF) {
			t.Errorf("%s: %v", name, err)
		}
		if bytes.Contains(picture, []byte("NaN")) || bytes.Contains(picture, []byte("Inf")) {
			t.Errorf("%s: a place that is none", name)
		}
		again, _ := r.Picture()
		if !bytes.Equal(picture, again) {
			t.Errorf("%s differs when drawn again", name)
		}
	}
}
