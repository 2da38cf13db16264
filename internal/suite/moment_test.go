package suite

import (
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/must"
)

func TestParseMoment(t *testing.T) {
	for _, c := range []struct {
		in   string
		want Moment
	}{
		{"12", Moment{line: 12}},
		{"line 12", Moment{line: 12}},
		{" 2 ", Moment{line: 2}},
		{"op 3", Moment{op: 3}},
		{"op3", Moment{op: 3}},
		{"12.5s", Moment{at: 12500 * time.Millisecond}},
		{"0s", Moment{}},
		{"4.003060048s", Moment{at: 4003060048}},
	} {
		if got, err := ParseMoment(c.in); err != nil || got != c.want {
			t.Errorf("ParseMoment(%q) = %+v, %v, want %+v", c.in, got, err, c.want)
		}
	}
	for _, bad := range []string{"", "x", "op", "op x", "op 0", "1", "0", "-3", "line", "-2s", "12.5"} {
		if got, err := ParseMoment(bad); err == nil {
			t.Errorf("ParseMoment(%q) = %+v, want an error", bad, got)
		}
	}
}

func TestMomentInAHistory(t *testing.T) {
	h := &history.History{Events: []history.Event{
		{Time: 1, Kind: history.Invoke, Op: 1, F: history.Acquire},
		{Time: 2, Kind: history.OK, Op: 1, F: history.Acquire},
		{Time: 3, Kind: history.Invoke, Op: 2, F: history.Acquire},
		{Time: 9, Kind: history.End, End: &history.EndEvent{}},
	}}
	for in, want := range map[string]string{
		"op 1": "at line 3", "op 2": "at line 4", "2": "at line 2", "5ns": "at 5ns",
		"5": "line 5 is the end of the run", "6": "the history has no line 6", "op 3": "the history has no operation 3", "9ns": "the run is over at",
	} {
		m, err := ParseMoment(in)
		must.Succeed(t, err)
		_, got, err := m.In(h)
		if err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
}
