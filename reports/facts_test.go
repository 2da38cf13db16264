package reports

import (
	"slices"
	"testing"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/story"
)

// TestFixturesAreValid: the checker accepts the histories of the other tests.
func TestFixturesAreValid(t *testing.T) {
	failover, _ := failoverStory()
	pause, _ := pauseStory()
	contention, _ := contentionStory("reentrant", 5, 8, 3)
	for name, h := range map[string]*history.History{"failover": failover, "pause": pause, "contention": contention} {
		if story.NewFacts(h).Invalid {
			t.Errorf("%s is not a valid history", name)
		}
	}
}

func TestOverlaps(t *testing.T) {
	h, _ := pauseStory()
	f := story.NewFacts(h)
	var got []string
	for _, o := range f.Overlaps {
		got = append(got, o.A.Client+" "+o.B.Client+" "+length(o.To-o.From))
	}
	want := []string{"client-1 client-2 490 ms", "client-1 client-2 1.06 s", "client-2 client-3 830 ms"}
	if !slices.Equal(got, want) {
		t.Errorf("overlaps %q, want %q", got, want)
	}
	if total, longest := f.OverlapTime(); length(total) != "2.38 s" || length(longest) != "1.06 s" {
		t.Errorf("two holders for %s, at most %s", length(total), length(longest))
	}
	if len(f.Lost) != 1 || f.Lost[0].Args.Base != 100 {
		t.Errorf("lost updates %+v", f.Lost)
	}
}

func TestHandoffs(t *testing.T) {
	r := record("x", "x", history.Claims{})
	r.acquire("client-1", 1, 2, 0)
	r.release("client-1", 10, 11)
	r.acquire("client-2", 5, 12.5, 0) // waited: 1.5 ms
	r.release("client-2", 20, 22)
	r.acquire("client-1", 15, 21, 0) // had it before the release returned: no time
	r.release("client-1", 30, 31)
	r.acquire("client-2", 40, 41, 0) // did not wait: not a hand-off
	r.release("client-2", 50, 51)
	f := story.NewFacts(r.end(60))
	if want := []int64{1_500_000, 0}; !slices.Equal(f.Handoffs, want) {
		t.Errorf("hand-offs %v, want %v", f.Handoffs, want)
	}
}

func TestNatural(t *testing.T) {
	names := []string{"node-10", "node-2-replica-1", "node-2", "client-1/10", "client-1/9", "node-1"}
	slices.SortFunc(names, story.Natural)
	want := []string{"client-1/9", "client-1/10", "node-1", "node-2", "node-2-replica-1", "node-10"}
	if !slices.Equal(names, want) {
		t.Errorf("got %q, want %q", names, want)
	}
}

func TestLength(t *testing.T) {
	for ns, want := range map[int64]string{
		0: "0 ms", 1500: "1.5 µs", 250_000: "250 µs", 812_400_000: "812 ms", 1_200_000_000: "1.2 s", 12_000_000_000: "12 s",
		99_960_000_000: "100 s", 2_990_000: "2.99 ms", -1_500_000_000: "-1.5 s",
	} {
		if got := length(ns); got != want {
			t.Errorf("length(%d) = %q, want %q", ns, got, want)
		}
	}
}

// TestLongStory: a long story is cut, but keeps the surroundings of the
// violation.
func TestLongStory(t *testing.T) {
	h, run := contentionStory("reentrant", 5, 60, 1)
	r := &recorder{h: *h, op: int64(len(h.Events))}
	last := r.h.Events[len(r.h.Events)-1].Time / 1e6
	r.h.Events = r.h.Events[:len(r.h.Events)-1]
	at := float64(last) - 1500
	for i := range 30 {
		r.fault(at-3000+float64(i)*20, i+1, "delay", history.PhaseStart, "", "client-1")
	}
	r.acquire("client-1", at, at+1, 900)
	r.acquire("client-2", at+10, at+20, 901)
	r.release("client-1", at+100, at+101)
	r.release("client-2", at+200, at+201)
	run.Verdicts[checker.Exclusion] = checker.Verdict{Outcome: checker.Violated, Class: checker.ContractBroken}
	told := story.Tell(story.NewFacts(r.end(at+9000)), &run)
	var gaps, bad int
	for i, s := range told {
		if i > 0 && s.At < told[i-1].At {
			t.Errorf("sentence %d is out of order: %v", i, s)
		}
		if s.Gap {
			gaps++
		}
		if s.Bad {
			bad++
		}
	}
	if n := len(told) - gaps; n > 25 {
		t.Errorf("%d sentences", n)
	}
	if bad != 2 || gaps == 0 {
		t.Errorf("%d sentences of the violation, want its start and its end; %d gaps: %v", bad, gaps, told)
	}
}

// TestWindow: the timeline of a long run shows the part with the violation.
func TestWindow(t *testing.T) {
	h, run := contentionStory("reentrant", 5, 60, 1)
	r := &recorder{h: *h, op: int64(len(h.Events))}
	r.h.Events = r.h.Events[:len(r.h.Events)-1]
	at := float64(r.h.Events[len(r.h.Events)-1].Time)/1e6 + 100
	r.acquire("client-1", at, at+1, 900)
	r.acquire("client-2", at+10, at+20, 901)
	r.release("client-1", at+100, at+101)
	r.release("client-2", at+200, at+201)
	f := story.NewFacts(r.end(at + 9000))
	tl := &timeline{timeAxis: &timeAxis{}, f: f, proven: map[int64]bool{}, colour: map[string]int{}}
	tl.window()
	o := f.Overlaps[0]
	if tl.from < ns(at-1500) || tl.from > o.From || tl.to < o.To || tl.to > ns(at+400) {
		t.Errorf("the window is %s to %s, the overlap %s to %s", history.At(tl.from), history.At(tl.to), history.At(o.From), history.At(o.To))
	}
	svg, _ := drawTimeline(f, &run, &timeAxis{})
	if len(svg) > 60_000 {
		t.Errorf("the timeline has %d bytes", len(svg))
	}
}
