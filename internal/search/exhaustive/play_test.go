package exhaustive_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/internal/disk"
	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/internal/nightly"
	"github.com/holdfast-go/holdfast/internal/pages"
	"github.com/holdfast-go/holdfast/internal/search"
	"github.com/holdfast-go/holdfast/internal/search/exhaustive"
	"github.com/holdfast-go/holdfast/internal/search/explore/draw"
	"github.com/holdfast-go/holdfast/internal/search/shrink"
	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// late plays jobs in this process. It gives the answers of so many jobs at a time,
// the last one first, and ends the context after so many.
type late struct {
	at  int
	end func() // nil for never
	by  int
}

func (h late) Play(ctx context.Context, jobs []suite.Job, got func(suite.Answer)) error {
	return late{at: 1}.Stream(ctx, len(jobs), slices.Values(jobs), got)
}

func (h late) Stream(_ context.Context, _ int, jobs iter.Seq[suite.Job], got func(suite.Answer)) error {
	var held []suite.Answer
	flush := func() {
		for _, a := range slices.Backward(held) {
			got(a)
		}
		held = nil
	}
	n := 0
	for j := range jobs {
		held = append(held, suite.PlayJob(j, func(run func()) { run() }))
		if len(held) >= h.at {
			flush()
		}
		if n++; n == h.by && h.end != nil {
			h.end()
		}
	}
	flush()
	return nil
}

// options place some faults in a base.
func options(t *testing.T, lock, base string, only ...string) exhaustive.Options {
	t.Helper()
	v, err := draw.NewVocabulary(only, nil, false)
	must.Succeed(t, err)
	return exhaustive.Options{Lock: locks.MustFind(lock), Base: base, Depth: 1, Faults: v.Faults, Shard: suite.Shard{Index: 1, Of: 1}, Runner: late{at: 1}}
}

// played plays, and wants runs and no defect.
func played(t *testing.T, o exhaustive.Options) exhaustive.Results {
	t.Helper()
	r, err := o.Play(t.Context(), func(string) {})
	must.Succeed(t, err)
	if len(r.Defects)+len(r.Audit.Differences) > 0 {
		t.Fatalf("defects: %v, differences: %v", r.Defects, r.Audit.Differences)
	}
	if sum := r.Total(); sum.Played == 0 {
		t.Fatal("nothing was played")
	}
	r.WallMS = 0
	return r
}

func hasFault(causes []exhaustive.Cause, fault string) bool {
	return slices.ContainsFunc(causes, func(c exhaustive.Cause) bool { return slices.Contains(c.Faults, fault) })
}

// A lock with a mistake must not pass: one fault at the right moment shows it.
func TestAMutantIsFound(t *testing.T) {
	for _, tt := range []struct{ lock, base, fault string }{
		{"release-by-anyone", "holder-and-waiter", "pause"},
		{"renewal-stops-after-one-error", "renewed", "hold-reply"},
	} {
		t.Run(tt.lock, func(t *testing.T) {
			r := played(t, options(t, tt.lock, tt.base, tt.fault))
			if len(r.Violated) == 0 {
				t.Errorf("nothing found in %d runs", r.Total().Played)
			}
		})
	}
}

// A lease without renewals, on one primary, cannot survive a long pause or a failover. A
// user who sees these as the lock's fault would blame the wrong part. A repeated release
// that fails by its own effect (errors) is the lock's fault.
func TestWhatALeaseCannotPreventIsInherent(t *testing.T) {
	r := played(t, options(t, "set-px-lua", "holder-and-waiter", "pause", "failover"))
	for _, fault := range []string{"pause", "failover"} {
		if !hasFault(r.Inherent, fault) {
			t.Errorf("%s is not among the inherent causes: %v", fault, r.Inherent)
		}
		if hasFault(slices.DeleteFunc(r.Violated, func(c exhaustive.Cause) bool { return c.Property == checker.Errors }), fault) {
			t.Errorf("%s is held against the lock: %+v", fault, r.Violated)
		}
	}
}

// The claim that the reference locks are sound under one fault relies on these slices of
// the placements in all bases.
func TestTheReferenceLocksKeepTheirPromises(t *testing.T) {
	for _, tt := range []struct {
		lock, base string
		of         int // the slice of make nightly is one of so many
	}{
		{"reentrant", "", 40}, {"fair", "", 60}, {"fenced", "", 60}, {"reentrant-wait", "", 60}, {"multi", "", 800}, {"redlock", "", 800},
		{"reentrant", "crossed-work", 200}, {"fair", "crossed-work", 200},
	} {
		t.Run(strings.TrimSpace(tt.lock+" "+tt.base), func(t *testing.T) {
			o := options(t, tt.lock, tt.base)
			o.Shard = suite.Shard{Index: 1, Of: tt.of * nightly.Every(4)}
			for _, c := range played(t, o).Violated {
				t.Errorf("%s after %s (%s): %s", c.Property, c.When, c.First, c.Reason)
			}
		})
	}
}

// More workers answer in another order, and must find the same.
func TestResultsDoNotDependOnTheOrderOfAnswers(t *testing.T) {
	o := options(t, "set-px-lua", "two-tries")
	o.Shard = suite.Shard{Index: 3, Of: 100}
	inOrder := played(t, o)
	o.Runner = late{at: 7}
	if diff := cmp.Diff(inOrder, played(t, o)); diff != "" {
		t.Errorf("answers in another order give another result:\n%s", diff)
	}
}

// A find is a file: who plays it by itself must see the violation.
func TestAFindPlaysByItself(t *testing.T) {
	r := played(t, options(t, "set-px-lua", "holder-and-waiter", "pause", "failover"))
	if len(r.Inherent) == 0 {
		t.Fatal("nothing found")
	}
	c := r.Inherent[0]
	a := suite.PlayJob(suite.Job{Scenario: c.First, File: c.First + ".yaml", Source: c.Source, Lock: "set-px-lua", Seed: 1, Judge: true}, func(run func()) { run() })
	if a.Defect != "" {
		t.Fatal(a.Defect)
	}
	if v := a.Run.Verdicts[c.Property]; v.Reason != c.Reason {
		t.Errorf("played by itself: %q, found: %q", v.Reason, c.Reason)
	}
}

// A user with many machines splits the work, and must get the result of one. The counts
// are the same, and so is the first run of each cause.
func TestShardsJoinedAreTheWhole(t *testing.T) {
	for _, depth := range []int{1, 2} {
		t.Run(fmt.Sprint(depth), func(t *testing.T) {
			o := options(t, "set-px-lua", "two-tries", "pause", "reset")
			if depth == 2 {
				o = options(t, "set-px", "one-holder", "cancel")
			}
			o.Depth = depth
			whole := played(t, o)
			var dirs []string
			for index := range 3 {
				o.Shard = suite.Shard{Index: index + 1, Of: 3}
				dirs = append(dirs, stored(t, played(t, o)))
			}
			m, err := exhaustive.Kind.MergeDirs(append(dirs, dirs[1]))
			must.Succeed(t, err)
			got := m.Results
			if len(got.Missing) > 0 {
				t.Errorf("shards are missing: %v", got.Missing)
			}
			got.Envelope, got.Shards = whole.Envelope, nil
			for _, causes := range [][]exhaustive.Cause{got.Violated, got.Inherent} {
				for i := range causes {
					causes[i].File, causes[i].Under = "", ""
				}
			}
			if diff := cmp.Diff(whole, got); diff != "" {
				t.Errorf("joined shards differ from the whole:\n%s", diff)
			}
		})
	}
}

// A lock that is wrong without any fault must not be reported once for each fault. A
// violation that only a fault shows stands apart, and shards agree on the first run.
func TestAViolationWithoutAFaultIsOneCause(t *testing.T) {
	o := options(t, "set-without-nx", "", "reset")
	o.Shard = suite.Shard{Index: 1, Of: 5}
	bare := map[string]bool{}
	var dirs []string
	for index := range 5 {
		o.Shard.Index = index + 1
		dirs = append(dirs, stored(t, played(t, o)))
	}
	merged, err := exhaustive.Kind.MergeDirs(dirs)
	must.Succeed(t, err)
	m := merged.Results
	for _, c := range m.Violated {
		if c.Bare() {
			bare[fmt.Sprint(c.Property, c.Class)] = true
			if c.Count < 2 || c.When != "" || len(c.Faults) > 0 {
				t.Errorf("%d runs after %v: %s", c.Count, c.Faults, c.When)
			}
		}
	}
	if len(bare) == 0 {
		t.Fatal("nothing is violated without a fault")
	}
	o.Shard = suite.Shard{Index: 1, Of: 1}
	whole := played(t, o)
	if len(whole.Violated) != len(m.Violated) {
		t.Fatalf("whole: %d causes, joined: %d", len(whole.Violated), len(m.Violated))
	}
	for i, c := range whole.Violated {
		if j := m.Violated[i]; c.First != j.First || c.Count != j.Count {
			t.Errorf("whole: %s in %d runs, joined: %s in %d", c.First, c.Count, j.First, j.Count)
		}
	}
	var text strings.Builder
	must.Succeed(t, pages.Placement{Results: whole}.Text(&text))
	if !regexp.MustCompile(`(?m)^\d+ +exclusion +without any +`).MatchString(text.String()) {
		t.Errorf("the table does not say that it takes no fault:\n%s", text.String())
	}
}

// The summary of an interrupted search must not say that every fault was played.
func TestAnInterruptedSummaryClaimsOnlyAPart(t *testing.T) {
	for interrupted, want := range map[bool]string{false: "\nEvery single fault of set-px: ", true: "\nInterrupted: part of every single fault of set-px: "} {
		var text strings.Builder
		must.Succeed(t, pages.Placement{Results: exhaustive.Results{Envelope: search.Envelope{Interrupted: interrupted}, Lock: "set-px", Depth: 1}}.Text(&text))
		if !strings.Contains(text.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, text.String())
		}
	}
}

// stored writes results to a directory.
func stored(t *testing.T, r exhaustive.Results) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "placed")
	out, err := disk.Open(dir, exhaustive.Kind.Directory())
	if err == nil {
		err = exhaustive.Kind.Put(out, suite.Dir(dir), r)
	}
	must.Succeed(t, err)
	return dir
}

// A user who interrupts a long search goes on with it later, and must lose nothing and
// count nothing twice.
func TestResumedIsTheWhole(t *testing.T) {
	for _, depth := range []int{1, 2} {
		t.Run(fmt.Sprint(depth), func(t *testing.T) {
			o := options(t, "set-px", "one-holder", "cancel")
			o.Depth = depth
			whole := played(t, o)
			sum := whole.Total()
			ctx, cancel := context.WithCancel(t.Context())
			cut := o
			cut.Runner = late{at: 3, end: cancel, by: sum.Played / 2}
			r, err := cut.Play(ctx, func(string) {})
			if err != nil || !r.Interrupted || r.Done == 0 {
				t.Fatalf("interrupted after %d runs: %v, %v", r.Done, r.Interrupted, err)
			}
			if o.Before, err = exhaustive.Before(stored(t, r)); err != nil {
				t.Fatal(err)
			}
			got := played(t, o)
			for _, causes := range [][]exhaustive.Cause{got.Violated, got.Inherent} {
				for i := range causes {
					causes[i].File = ""
				}
			}
			if diff := cmp.Diff(whole, got); diff != "" {
				t.Errorf("a search that was interrupted differs from the whole:\n%s", diff)
			}
			o.Shard = suite.Shard{Index: 1, Of: 2}
			if _, err := o.Play(t.Context(), func(string) {}); !errors.Is(err, exhaustive.ErrOther) {
				t.Errorf("going on with another shard: %v", err)
			}
		})
	}
}

// Pairs find what no single fault shows: a find names both, and plays by itself.
func TestAPairIsBuiltUponASingleFault(t *testing.T) {
	o := options(t, "set-px-lua", "holder-and-waiter", "reset", "pause")
	one := played(t, o)
	o.Depth = 2
	o.Shard = suite.Shard{Index: 1, Of: 60 * nightly.Every(4)}
	two := played(t, o)
	if !slices.ContainsFunc(two.Inherent, func(c exhaustive.Cause) bool { return len(c.Faults) == 2 }) {
		t.Errorf("no find names two faults: %+v", two.Inherent)
	}
	if a, b := one.Bases[0], two.Bases[0]; b.Placements <= 10*a.Placements || b.NotPlayed[exhaustive.SameFromThere] == 0 || b.NotPlayed[exhaustive.OtherOrder] == 0 {
		t.Errorf("one fault: %d placements; two: %d, of which are not played %v", a.Placements, b.Placements, b.NotPlayed)
	}
	if two.Audit.Played == 0 {
		t.Error("the audit played nothing of what was left out")
	}
}

// losesUnits is a runner whose worker dies in each job of several placements.
type losesUnits struct{ late }

func (r losesUnits) Stream(_ context.Context, _ int, jobs iter.Seq[suite.Job], got func(suite.Answer)) error {
	for j := range jobs {
		var o struct{ Cells []json.RawMessage }
		if err := json.Unmarshal(j.Args, &o); err != nil {
			return err
		}
		a := suite.Answer{ID: j.ID}
		if len(o.Cells) == 1 {
			a = suite.PlayJob(j, func(run func()) { run() })
		}
		got(a)
	}
	return nil
}

// A lock that ends its process in one placement must not take the others of the same job
// with it. Each is played by itself then, and shows what it showed before.
func TestALostJobIsPlayedPlacementByPlacement(t *testing.T) {
	o := options(t, "release-by-anyone", "holder-and-waiter", "pause")
	whole := played(t, o)
	o.Runner = losesUnits{late{at: 1}}
	alone := played(t, o)
	a, b := whole.Total(), alone.Total()
	if a.Outlasted == 0 || b.Outlasted != 0 || b.Played != a.Played+a.Outlasted {
		t.Errorf("in jobs: %+v, one by one: %+v", a, b)
	}
	causes := func(r exhaustive.Results) (all []string) {
		for _, c := range r.Violated {
			all = append(all, fmt.Sprint(c.Property, c.Class, c.Faults))
		}
		slices.Sort(all)
		return all
	}
	if diff := cmp.Diff(causes(whole), causes(alone)); diff != "" {
		t.Error(diff)
	}
}

// A shrunk find is small, plays by itself, and shows a violation that the lock could have
// avoided.
func TestFindsAreShrunk(t *testing.T) {
	r := played(t, options(t, "release-by-anyone", "holder-and-waiter", "pause"))
	must.Succeed(t, shrink.Placements(t.Context(), &r, late{at: 1}, func(string) {}))
	i := slices.IndexFunc(r.Violated, func(c exhaustive.Cause) bool { return c.Shrunk != nil })
	if i < 0 || len(r.Defects) > 0 {
		t.Fatalf("nothing is shrunk; defects: %v", r.Defects)
	}
	c := r.Violated[i]
	if c.Shrunk.Size.Clients > 2 || c.Shrunk.Size.Ops > 12 {
		t.Errorf("what is left is not small: %+v", c.Shrunk.Size)
	}
	a := suite.PlayJob(suite.Job{Scenario: "shrunk", File: "shrunk.yaml", Source: c.Shrunk.Source, Lock: "release-by-anyone", Seed: 1, Judge: true}, func(run func()) { run() })
	if v := a.Run.Verdicts[c.Property]; !v.Faulty() {
		t.Errorf("played by itself it shows %+v, %s", v, a.Defect)
	}
}

// A majority of three must grant without one of them, and the group of all three must
// not. Else the placements of redlock-3 would show nothing about a majority.
func TestTheSmallestMajority(t *testing.T) {
	for lock, refused := range map[string]bool{"redlock-3": false, "multi": true} {
		t.Run(lock, func(t *testing.T) {
			r := played(t, options(t, lock, "one-holder", "node-crash"))
			if sum := r.Total(); sum.Violated > 0 {
				t.Errorf("%d runs violated something", sum.Violated)
			}
			if got := r.Unknown["no acquire succeeded"] > 0; got != refused {
				t.Errorf("no grant without one primary: %v, want %v (%v)", got, refused, r.Unknown)
			}
		})
	}
}

// A release that hangs delays the close, and the owner that comes next must find the lock
// closed. A hold of it would be renewed after the close.
func TestAClosedLockGrantsNothing(t *testing.T) {
	for _, lock := range []string{"fair", "reentrant"} {
		t.Run(lock, func(t *testing.T) {
			r := played(t, options(t, lock, "closed", "hold-request"))
			if sum := r.Total(); sum.Violated > 0 || sum.Played == 0 {
				t.Errorf("%d of %d runs violated something", sum.Violated, sum.Played)
			}
			for reason, runs := range r.Unknown {
				if strings.Contains(reason, "mutex") {
					t.Errorf("%d runs: %s", runs, reason)
				}
			}
		})
	}
}

// A nested acquire that fails because the group was lost meanwhile may hang while it
// gives its members back. They must not be renewed until then: no owner has the lock.
func TestALostGroupRenewsNoMember(t *testing.T) {
	r := played(t, options(t, "multi", "nested", "half-open"))
	if sum := r.Total(); sum.Violated > 0 {
		t.Errorf("%d runs violated something: %+v", sum.Violated, r.Violated[0].Reason)
	}
}
