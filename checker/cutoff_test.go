package checker

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-go/holdfast/checker/history"
)

// Wherever the recording is killed after the header, what there is can be
// judged: the whole lines, and an end that says so.
func TestCutOffAnywhere(t *testing.T) {
	whole := story(t, leased(nil), handover)
	text := encoded(t, whole)
	header := strings.IndexByte(text, '\n') + 1
	step := 1
	if testing.Short() {
		step = 13
	}
	for n := header; n < len(text); n += step {
		h, err := history.DecodeCutOff(strings.NewReader(text[:n]))
		if err != nil {
			t.Fatalf("cut off after %d bytes: %v", n, err)
		}
		lines := strings.Count(text[header:n], "\n")
		end := history.Event{Kind: history.End, End: &history.EndEvent{CutOff: true}}
		if lines > 0 {
			end.Time = whole.Events[lines-1].Time
		}
		want := append(append([]history.Event{}, whole.Events[:lines]...), end)
		if diff := cmp.Diff(want, h.Events); diff != "" {
			t.Fatalf("cut off after %d bytes: %s", n, diff)
		}
		r, err := Judge(h, Options{})
		if err != nil {
			t.Fatalf("cut off after %d bytes: %v", n, err)
		}
		for p, v := range r.Verdicts {
			if v.Outcome == Violated {
				t.Fatalf("cut off after %d bytes: %s: %+v", n, p, v)
			}
		}
		if r.Verdicts[Cleanup].Outcome != Unknown {
			t.Fatalf("cut off after %d bytes: cleanup is %s", n, r.Verdicts[Cleanup].Outcome)
		}
		if _, err := history.Decode(strings.NewReader(encoded(t, h))); err != nil {
			t.Fatalf("what was read cannot be written and read again: %v", err)
		}
	}
}

// A whole history is none the worse for it, and one that is wrong is no better.
func TestCutOffIsStrict(t *testing.T) {
	text := encoded(t, story(t, leased(nil), handover))
	h, err := history.DecodeCutOff(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if got := encoded(t, h); got != text {
		t.Errorf("a whole history changed:\n%s", got)
	}
	for name, bad := range map[string]string{
		"half a header": text[:20], "nothing": "", "a bad line": strings.Replace(text, `"kind":"ok"`, `"kind":`, 1),
	} {
		var invalid *history.InvalidError
		if _, err := history.DecodeCutOff(strings.NewReader(bad)); !errors.As(err, &invalid) || invalid.CutOff {
			t.Errorf("%s: got %v", name, err)
		}
	}
	broken := errors.New("the disk is gone")
	if _, err := history.DecodeCutOff(io.MultiReader(strings.NewReader(text[:len(text)-5]), iotest.ErrReader(broken))); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

// Decode reports that a history was cut off, so that the command can say what to do.
func TestDecodeReportsACutOff(t *testing.T) {
	text := encoded(t, story(t, leased(nil), handover))
	lines := strings.SplitAfter(text, "\n")
	for _, cut := range []string{text[:len(text)-3], strings.Join(lines[:4], ""), lines[0]} {
		var invalid *history.InvalidError
		if _, err := history.Decode(strings.NewReader(cut)); !errors.As(err, &invalid) || !invalid.CutOff {
			t.Errorf("got %v", err)
		}
	}
}

// A lock that had no chance to take a request back is not blamed for it.
func TestCutOffBeforeItIsTakenBack(t *testing.T) {
	h := leased(func(h *history.Header) { h.Claims.TakesBack = true })
	given := func(end string) string {
		return fmt.Sprintf(`
		0    c1 acquire lease=1000; 1 ok count=1
		2    c1 release; 3 ok
		10   c2 acquire lease=60000 wait=50
		20   server n1 SET by=c2 holder=c2 ttl=60000
		60   c2 fail err=canceled
		%s`, end)
	}
	whole := story(t, h, given("5000 end"))
	cut := story(t, h, given("500 end"))
	cut.Events[len(cut.Events)-1].End.CutOff = true
	for _, tt := range []struct {
		h    *history.History
		want Outcome
	}{{whole, Violated}, {cut, OutcomeOK}} {
		r, err := Judge(tt.h, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Verdicts[Progress]; got.Outcome != tt.want {
			t.Errorf("got %+v, want %s", got, tt.want)
		}
	}
}
