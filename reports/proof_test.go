package reports

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/internal/story"
	"github.com/holdfast-go/holdfast/reports/results"
)

// violated is a run that violates properties, each with the operations that prove
// it.
func violated(lock string, atMS float64, ops []int64, properties ...checker.Property) results.Run {
	r := results.Run{Scenario: "made-up", Lock: lock, World: "sim", Seed: 1, AsExpected: true, Verdicts: map[checker.Property]checker.Verdict{}}
	for _, p := range properties {
		r.Verdicts[p] = checker.Verdict{Outcome: checker.Violated, AtMS: atMS, Ops: ops, Reason: "as drawn"}
	}
	return r
}

// nestedStory: a nested acquire returns a count that is one too high, just before
// the end of the picture. The labels are close together.
func nestedStory() (*history.History, results.Run) {
	r := record("made-up", "nested", history.Claims{Reentrant: true, Fencing: true, Renewal: true})
	got := func(from, to float64, count int) int64 {
		return r.call(history.Acquire, "client-1", from, to, history.OK, &history.Args{Wait: -1, Renewed: true}, &history.Result{Count: count, Token: 1234567})
	}
	a, b := got(1, 2, 1), got(900, 900.4, 2)
	c := r.call(history.Inspect, "client-1", 901, 901.2, history.OK, nil, &history.Result{Count: 2})
	d, e := got(902, 902.3, 4), r.call(history.Release, "client-1", 903, 903.5, history.Info, nil, &history.Result{Error: history.ErrCanceled})
	return r.end(2000), violated("nested", 902.3, []int64{a, b, c, d, e}, checker.Count)
}

// unansweredStory: a holder dies, much later another owner waits without an
// answer, and a server refuses a third one.
func unansweredStory() (*history.History, results.Run) {
	r := record("made-up", "unanswered", history.Claims{})
	a := r.acquire("client-1", 0.5, 1, 0)
	r.note(700, history.Crashed, "client-1", "")
	b := r.call(history.Acquire, "client-2", 60000, 0, "", &history.Args{Wait: -1}, nil)
	c := r.call(history.Acquire, "client-3", 60300, 60900, history.Fail, &history.Args{}, &history.Result{Error: history.ErrBusy})
	return r.end(120000), violated("unanswered", 60900, []int64{c, b, a}, checker.Linearizable, checker.Progress)
}

// staleStory: a fenced resource takes a write with an old token.
func staleStory() (*history.History, results.Run) {
	r := record("made-up", "stale", history.Claims{Lease: true, Fencing: true})
	r.acquire("client-1", 10, 11, 7)
	r.acquire("client-2", 20, 3500, 8)
	write := func(client string, from float64, value, base, over int64, token uint64) int64 {
		return r.call(history.Write, client, from, from+0.5, history.OK, &history.Args{Value: value, Base: base, Token: token}, &history.Result{Value: over})
	}
	b := write("client-2", 3600, 99, 100, 100, 8)
	a := write("client-1", 3601, 99, 100, 99, 7)
	r.release("client-1", 3602, 3603)
	r.release("client-2", 3604, 3605)
	return r.end(5000), violated("stale", 3601.5, []int64{a, b}, checker.ResourceSafe, checker.Fencing)
}

// silentStory: a watchdog stops its renewals long before the release.
func silentStory() (*history.History, results.Run) {
	r := record("made-up", "silent", history.Claims{Lease: true, Renewal: true})
	a := r.call(history.Acquire, "client-1", 1, 2, history.OK, &history.Args{Lease: ns(30000), Wait: -1, Renewed: true}, &history.Result{Count: 1})
	b := r.release("client-1", 28000, 28001)
	return r.end(60000), violated("silent", 20001.5, []int64{a, b}, checker.Renewal)
}

// proofDocument has one run for each way of drawing a proof.
func proofDocument() Document {
	histories := map[string]*history.History{}
	var d Document
	for _, record := range []func() (*history.History, results.Run){pauseStory, failoverStory, nestedStory, unansweredStory, staleStory, silentStory} {
		h, r := record()
		histories[r.Lock] = h
		d.Results.Runs = append(d.Results.Runs, r)
	}
	d.Histories = func(r results.Run) (*history.History, error) { return histories[r.Lock], nil }
	return d
}

// TestProofPictures compares the pictures of proofs with the golden files.
func TestProofPictures(t *testing.T) {
	d := proofDocument()
	var b bytes.Buffer
	for i := range d.Results.Runs {
		r := &d.Results.Runs[i]
		h, _ := d.Histories(*r)
		must.Succeed(t, pages.ExecuteTemplate(&b, "proofs", runView{Proofs: proofViews(story.NewFacts(h), r)}))
	}
	golden(t, "proofs.html", b.Bytes())
}

// Properties with the same proof share a picture. A violation has no picture if
// no operation proves it, or if the history lacks those operations.
func TestProofsAreGrouped(t *testing.T) {
	h, r := unansweredStory()
	r.Verdicts[checker.Exclusion] = checker.Verdict{Outcome: checker.Violated, Ops: []int64{2, 3, 1}}
	r.Verdicts[checker.Cleanup] = checker.Verdict{Outcome: checker.Violated}
	r.Verdicts[checker.Lease] = checker.Verdict{Outcome: checker.Unknown, Ops: []int64{1}}
	r.Verdicts[checker.Ownership] = checker.Verdict{Outcome: checker.Violated, Ops: []int64{2}}
	r.Verdicts[checker.Errors] = checker.Verdict{Outcome: checker.Violated, Ops: []int64{99}}
	var got [][]string
	for _, v := range proofViews(story.NewFacts(h), &r) {
		var about []string
		for _, a := range v.About {
			about = append(about, a.Property)
		}
		got = append(got, about)
	}
	want := [][]string{{"exclusion", "linearizable", "progress"}, {"ownership"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("pictures (-want +got):\n%s", diff)
	}
}

// An earlier instant is visibly to the left of a later one. The axis breaks a
// stretch only where it would crush the others.
func TestBrokenAxis(t *testing.T) {
	for _, c := range []struct {
		name     string
		instants []int64
		breaks   int
	}{
		{"one instant", []int64{5}, 0},
		{"an operation in a second", []int64{1e9, 1, 2, 0}, 0},
		{"ten seconds before one", []int64{0, 1e8, 10e9, 10.5e9, 11e9}, 1},
		{"an hour between two operations", []int64{0, 1e6, 3600e9, 3600e9 + 1e6}, 0},
		{"two long stretches", []int64{0, 10e9, 410e9, 420e9, 815e9, 825e9}, 2},
		{"a long stretch and one that looks long without it", []int64{0, 1e9, 51e9, 52e9, 400e9, 401e9}, 1},
		{"a long stretch that is to be whole", []int64{0, 1e9, 7e9, 8e9, 50e9, 51e9}, 1},
		{"the same instant twice", []int64{3e9, 3e9, 4e9}, 0},
		{"more than it has room for in proportion", []int64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 1e9, 1e12}, 0},
	} {
		a := story.NewAxis(c.instants, 100, 800, 830, axisApart, axisBreak, func(from, _ int64) bool { return from == 7e9 })
		if n := len(a.Breaks()); n != c.breaks {
			t.Errorf("%s: %d breaks, want %d", c.name, n, c.breaks)
		}
		for i := 1; i < len(a.At); i++ {
			if a.X[i] < a.X[i-1]+axisApart-0.001 {
				t.Errorf("%s: %d ns is drawn at %.1f, %d ns at %.1f", c.name, a.At[i-1], a.X[i-1], a.At[i], a.X[i])
			}
			if mid := a.Pos((a.At[i-1] + a.At[i]) / 2); mid < a.X[i-1] || mid > a.X[i] {
				t.Errorf("%s: what lies between %d and %d ns is drawn at %.1f", c.name, a.At[i-1], a.At[i], mid)
			}
		}
		if end := a.X[len(a.X)-1]; len(a.At) > 1 && (end < 799.9 || end > 800.1) {
			t.Errorf("%s: the axis ends at %.1f", c.name, end)
		}
	}
}

// The picture has a description, and names every operation by its id.
func TestProofInWords(t *testing.T) {
	h, r := unansweredStory()
	svg := string(drawProof(story.NewFacts(h), &r, proofsOf(&r)[0]))
	for _, want := range []string{"client-1/1 at 0.001 s: op 1 acquire → granted", "op 2 acquire → no answer", "op 3 acquire → busy"} {
		if !strings.Contains(svg, want) {
			t.Errorf("the picture does not say %q", want)
		}
	}
	for _, want := range []string{`class="op open"`, `class=crash`, `class="torn"`} {
		if n := strings.Count(svg, want); n != 1 {
			t.Errorf("%s is drawn %d times", want, n)
		}
	}
	if fmt.Sprint(proofsOf(&r)[0].about) != "[linearizable progress]" {
		t.Error("the picture is about", proofsOf(&r)[0].about)
	}
}
