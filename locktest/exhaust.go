package locktest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/internal/disk"
	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/internal/goroutines"
	"github.com/holdfast-go/holdfast/internal/search/exhaustive"
	"github.com/holdfast-go/holdfast/internal/search/explore/draw"
	"github.com/holdfast-go/holdfast/internal/suite"
)

// Exhaust plays every single fault at every moment of small workloads for the
// claims of the lock: some tens of thousands of runs. A subtest fails for each
// cause of a violation that the lock could have avoided, and if the lock never
// returns. If no subtest fails, no single fault breaks the lock in these
// workloads; the log lists the workloads, faults and durations.
//
// [Base], [Faults] and [Part] restrict the search. As with [Run], nothing runs in
// parallel. Each find is a scenario that Run plays with [Files]. HOLDFAST_OUT
// names a directory that keeps the finds.
func Exhaust(t *testing.T, l Lock, opts ...Option) {
	t.Helper()
	test := newRunner(t, l, opts)
	o, tested := test.options, test.tested
	v, err := draw.NewVocabulary(o.faults, nil, false)
	if err != nil {
		t.Fatalf("locktest: %v", err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	stalled := &stalls{out: os.Stderr, stop: stop}
	play := func(j suite.Job) suite.Answer {
		a := suite.Answer{ID: j.ID, Run: j.Run("sim")}
		a.Run.LockVersion = l.Version
		return exhaustive.Answer(tested, j, a, stalled.guard)
	}
	r, err := exhaustive.Options{Lock: tested, Users: o.users, Base: o.base, Depth: 1, Faults: v.Faults, Shard: o.part, Runner: suite.Here{Player: play}}.
		Play(ctx, func(string) {})
	stalled.tell(t)
	switch {
	case err != nil && !stalled.enough():
		t.Fatalf("locktest: %v", err)
	case len(r.Defects)+len(r.Audit.Differences) > 0:
		t.Fatalf("a defect of holdfast: %s", strings.Join(slices.Concat(r.Defects, r.Audit.Differences), "\n"))
	}
	r.Command = again(t, o.seed)
	sum := r.Total()
	t.Logf("%d runs in %d workloads, with %s; inherent: %d, proved nothing: %d\nnot covered: %s",
		sum.Played, len(r.Bases), strings.Join(r.Faults, ", "), sum.Inherent, sum.Unknown, strings.Join(r.NotCovered, "; "))
	if sum.Played == sum.Unknown && !stalled.enough() {
		t.Errorf("none of %d runs could be judged", sum.Played)
	}
	dir := ""
	if len(r.Violated) > 0 || os.Getenv(outVar) != "" {
		if dir, err = keepPlaced(t.Name(), r); err != nil {
			t.Fatalf("locktest: keep what was found: %v", err)
		}
	}
	for _, c := range r.Violated {
		t.Run(strings.Join(append([]string{string(c.Property)}, c.Faults...), "_"), func(t *testing.T) {
			t.Errorf("%s\nagain:  locktest.Run with locktest.Files(%q)", tellPlaced(c), filepath.Join(dir, c.File))
		})
	}
}

// tellPlaced tells a cause, with all that its first run violates.
func tellPlaced(c exhaustive.Cause) string {
	var b strings.Builder
	switch after := strings.Join(c.Faults, ", "); {
	case c.Bare():
		fmt.Fprintf(&b, "without any fault: %s: %s\n", c.Property, c.Reason)
	case after == "":
		fmt.Fprintf(&b, "%s, not after the fault: %s\n", c.Property, c.Reason)
	default:
		fmt.Fprintf(&b, "%s after %s: %s\n", c.Property, after, c.Reason)
	}
	for _, o := range c.Also {
		fmt.Fprintf(&b, "also:   %s: %s\n", o.Property, o.Reason)
	}
	switch {
	case c.Bare():
		fmt.Fprintf(&b, "runs:   %d, with a fault or without; the first is %s, which has none", c.Count, c.First)
	case c.Late():
		fmt.Fprintf(&b, "runs:   %d, the first is %s, whose fault struck at that moment or later: %s", c.Count, c.First, c.When)
	default:
		fmt.Fprintf(&b, "runs:   %d, the first is %s: %s", c.Count, c.First, cmp.Or(c.When, "no fault"))
	}
	return b.String()
}

// keepPlaced writes results to a directory of their own, and names their files in them.
func keepPlaced(test string, r exhaustive.Results) (string, error) {
	dir, err := directory(test)
	if err != nil {
		return "", err
	}
	out, err := disk.Open(dir, exhaustive.Kind.Directory())
	if err != nil {
		return "", err
	}
	return dir, exhaustive.Kind.Put(out, suite.Dir(dir), r)
}

// mostStalls is after how many runs that stall Exhaust stops.
const mostStalls = 3

// stalls counts the runs of Exhaust that never end. It tells the first one at once, and
// stops the search after [mostStalls].
type stalls struct {
	out    io.Writer
	stop   context.CancelFunc
	played int
	n      int
	first  string
	client bool // go-redis held the mutex of the first
}

func (s *stalls) guard(run string, play func()) error {
	if s.enough() {
		return exhaustive.ErrEnough
	}
	s.played++
	stall := detector.Watch(play)
	if stall == nil {
		return nil
	}
	client := stall.Kind() == goroutines.ClientDeadlocked
	if s.n++; s.n == 1 {
		s.first, s.client = run+"\n"+stall.Short(), client
		fmt.Fprintf(s.out, "locktest: a run stalls. Exhaust stops after %d of them. The first is %s\n", mostStalls, s.first)
	}
	if s.enough() {
		s.stop()
	}
	if client {
		return fmt.Errorf("%w: %w", exhaustive.ErrNoJudgement, goroutines.ErrOfClient)
	}
	return errors.New(stall.Short())
}

// enough reports whether nothing more is to be played.
func (s *stalls) enough() bool { return s.n >= mostStalls }

// tell fails a test whose search was stopped, and logs what stalled in another.
func (s *stalls) tell(t *testing.T) {
	t.Helper()
	if s.n == 0 {
		return
	}
	advice := "Release the mutex of the lock before it waits for the network."
	if s.client {
		advice = "go-redis held a mutex of its own. docs/test-your-own-lock.md says how a lock with Pub/Sub avoids that."
	}
	if !s.enough() {
		t.Logf("%s of %d stalled, and Exhaust does not know how they end. %s\nThe first is %s", english.Count(s.n, "run"), s.played, advice, s.first)
		return
	}
	t.Errorf("Exhaust stopped after %s, because %d of them stalled. The other placements were not played.\n"+
		"%s Or choose other faults with locktest.Faults.\nThe first is %s", english.Count(s.played, "run"), s.n, advice, s.first)
}
