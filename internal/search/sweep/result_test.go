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
)

// made is a result of some shards, without playing.
func made(t *testing.T, shards int, over []string, parts ...Part) *Result {
	t.Helper()
	p, err := NewPlan(load(t, "pause-at-random"), over)
	must.Succeed(t, err)
	r, err := newResult(p, "reentrant", "test", "holdfast sweep pause-at-random", over, 1, 30, shards)
	must.Succeed(t, err)
	for _, part := range parts {
		r.take(part)
	}
	return r
}

func part(shard int, overlaps ...int) Part {
	p := Part{Shard: shard, Complete: true}
	for _, n := range overlaps {
		p.Counts = append(p.Counts, Count{Runs: 10, Overlaps: n})
	}
	return p
}

func TestMerge(t *testing.T) {
	over := []string{"pause=5s,8s"}
	a, b, c := made(t, 3, over, part(1, 0, 3)), made(t, 3, over, part(2, 0, 5)), made(t, 3, over, part(3, 1, 9))
	merge := func(r ...*Result) *Result {
		t.Helper()
		m, err := Merge(r...)
		must.Succeed(t, err)
		return m
	}
	all := merge(a, b, c)
	if got := all.Points[1].Count; got != (Count{Runs: 30, Overlaps: 17}) || all.Points[0].Overlaps != 1 || len(all.Missing) > 0 {
		t.Errorf("%+v, missing %v", all.Points, all.Missing)
	}
	if two := merge(a, c); !slices.Equal(two.Missing, []int{2}) || !strings.Contains(strings.Join(two.Sentences(), "\n"), "of 3 shards these are missing or not complete: [2]") {
		t.Errorf("missing %v: %q", two.Missing, two.Sentences())
	}
	cut := part(2, 0, 2)
	cut.Complete, cut.Counts[1].Runs = false, 4
	half := made(t, 3, over, cut)
	if m := merge(a, half); !slices.Equal(m.Missing, []int{2, 3}) || m.Points[1].Runs != 14 {
		t.Errorf("%+v, missing %v", m.Points, m.Missing)
	}
	if m := merge(half, b, half); m.Points[1].Count != (Count{Runs: 10, Overlaps: 5}) {
		t.Errorf("a shard that was played again: %+v", m.Points[1].Count)
	}
	if len(a.Parts) != 1 {
		t.Error("merging changes what is merged")
	}
	for want, other := range map[string]*Result{
		"shard 2 was played twice, and came out differently": made(t, 3, over, part(2, 0, 6)),
		"their parameters differ":                            made(t, 3, []string{"pause=5s,9s"}, part(1, 0, 3)),
		"their numbers of shards differ":                     made(t, 2, over, part(1, 0, 3)),
	} {
		if _, err := Merge(b, other); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestResultIsReadAgain(t *testing.T) {
	r := made(t, 1, []string{"pause=5s,8s,10s", "lease=8s,10s"}, part(1, 0, 3, 9, 0, 1, 10))
	second := r.plan.Points()[0][1]
	r.Boundaries = []Boundary{{Second: &second, Without: 5, With: 6, CountWithout: Count{Runs: 10}, CountWith: Count{Runs: 10, Overlaps: 10}}}
	var doc bytes.Buffer
	must.Succeed(t, json.NewEncoder(&doc).Encode(r))
	again, err := ReadResult(bytes.NewReader(doc.Bytes()))
	must.Succeed(t, err)
	if !reflect.DeepEqual(again.Points, r.Points) || !reflect.DeepEqual(again.Boundaries, r.Boundaries) || !slices.Equal(again.Sentences(), r.Sentences()) {
		t.Errorf("%+v, want %+v", again, r)
	}
	for text, want := range map[string]string{
		"{}":   `schema is "", not "holdfast-sweep/1"`,
		"x":    "read sweep: ",
		"":     "read sweep: ",
		`[{"]`: "read sweep: ",
		strings.Replace(doc.String(), `"runs":10`, `"runs":"10"`, 1):                        "read sweep: ",
		strings.Replace(doc.String(), `"shard":1,"counts":[`, `"shard":1,"counts":[{},`, 1): "shard 1 has 7 counts for 6 points",
	} {
		if _, err := ReadResult(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %q", text, err, want)
		}
	}
}

// Pictures and pages are whole, and the same every time, for whatever may come.
func TestPictures(t *testing.T) {
	nobodyKnows := Part{Shard: 1, Complete: true, Counts: []Count{{Runs: 9, OverlapsUnknown: 9, LostUnknown: 9}, {Runs: 9}}}
	for name, r := range map[string]*Result{
		"curve":         made(t, 1, []string{"pause=5s,8s"}, part(1, 0, 3)),
		"by ratio":      made(t, 1, []string{"pause=5s~8s:2"}, part(1, 1, 3)),
		"one value":     made(t, 1, []string{"pause=5s"}, part(1, 3)),
		"none":          made(t, 1, []string{"pause=5s,8s"}, part(1, 0, 0)),
		"all":           made(t, 1, []string{"pause=5s,8s"}, part(1, 10, 10)),
		"nothing yet":   made(t, 1, []string{"pause=5s,8s"}),
		"partly":        made(t, 1, []string{"pause=5s,8s"}, nobodyKnows),
		"numbers":       made(t, 1, []string{"replicas=1..3"}, part(1, 0, 1, 3)),
		"heat map":      made(t, 1, []string{"pause=5s,8s", "lease=8s,10s"}, part(1, 0, 3, 9, 0)),
		"row":           made(t, 1, []string{"pause=5s,8s", "lease=8s"}, part(1, 0, 3)),
		"heat map of ?": made(t, 1, []string{"pause=5s", "lease=8s,9s"}, nobodyKnows),
	} {
		picture, err := r.picture()
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
		again, _ := r.picture()
		if !bytes.Equal(picture, again) {
			t.Errorf("%s differs when drawn again", name)
		}
		page, err := r.page(picture)
		if err != nil || !bytes.Contains(page, []byte(r.Command)) || bytes.Contains(page, []byte("http://")) && !bytes.Contains(page, []byte("http://www.w3.org")) {
			t.Errorf("%s: page: %v", name, err)
		}
	}
}
