package locktest

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/reports/results"
)

// After a release of an inner hold with an unknown outcome the owner still has the outer
// one, and after a loss nothing.
func TestFuncsCountHoldsAfterAnError(t *testing.T) {
	gone := errors.New("gone")
	for _, end := range []struct {
		err  error
		left int
	}{{lock.ErrUnknown, 1}, {gone, 0}} {
		answers := []error{end.err, nil}
		f := &Funcs{
			Acquire: func(context.Context) error { return nil },
			Release: func(context.Context) error {
				err := answers[0]
				answers = answers[1:]
				return err
			},
		}
		l := &classified{f, &Lock{Claims: Claims{Reentrant: true}, Lost: gone}, &Client{Lease: time.Second}, 0}
		for range 2 {
			if _, err := l.TryLock(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := l.Unlock(t.Context()); err == nil {
			t.Fatal("the first release succeeds")
		}
		if left, err := l.Unlock(t.Context()); err != nil || left != end.left {
			t.Errorf("after %v: %d holds are left, %v; want %d", end.err, left, err, end.left)
		}
	}
}

// A grant that names no lease has the one that was asked for, or that of the client.
func TestGrantsNameTheirLease(t *testing.T) {
	f := &Funcs{
		Acquire:    func(context.Context) error { return nil },
		AcquireFor: func(context.Context, time.Duration) error { return nil },
	}
	l := &classified{f, &Lock{Claims: Claims{Lease: true, Explicit: true, Renewal: true}}, &Client{Lease: time.Second}, 0}
	if g, _ := l.Lock(t.Context()); g.Lease != time.Second || !g.Renewed {
		t.Errorf("without a lease of its own: %+v", g)
	}
	if g, _ := l.Lock(t.Context(), lock.Lease(time.Minute)); g.Lease != time.Minute || g.Renewed {
		t.Errorf("with a lease of its own: %+v", g)
	}
}

// A lock that waits is held to a hand-off, also where it does not say how quick it is.
func TestHandoffHasADefault(t *testing.T) {
	for _, waits := range []bool{true, false} {
		l := Lock{Claims: Claims{Waits: waits}, New: func(*Client, string, string) lock.Locker { return nil }}
		s, err := l.forScenarios()
		must.Succeed(t, err)
		if c := s.Terms(catalogue(t)[0].Setting()); (c.Handoff == int64(1500*time.Millisecond)) != waits {
			t.Errorf("waits: %t, and the hand-off is %v", waits, time.Duration(c.Handoff))
		}
	}
}

// An error of the lock's own says what happened, also after the context of its caller has
// ended. A broken connection says that the outcome is unknown.
func TestErrorsAfterTheContextHasEnded(t *testing.T) {
	gone := errors.New("gone")
	c := &classified{lock: &Lock{NotHeld: gone, Busy: errors.New("busy")}}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tt := range []struct{ err, want error }{
		{gone, lock.ErrNotHeld},
		{&net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}, lock.ErrUnknown},
		{fmt.Errorf("unlock: %w", context.Canceled), context.Canceled},
		{c.lock.Busy, context.Canceled},
	} {
		if got := c.class(ended, tt.err); !errors.Is(got, tt.want) {
			t.Errorf("%v is %v, want %v", tt.err, got, tt.want)
		}
	}
}

// Each reason appears once, with the properties that it is about.
func TestEachReasonIsToldOnce(t *testing.T) {
	run := results.Run{Verdicts: map[checker.Property]checker.Verdict{}, Expected: map[checker.Property]checker.Outcome{}}
	for _, p := range checker.Properties() {
		run.Expected[p.Name] = checker.OutcomeOK
		run.Verdicts[p.Name] = checker.Verdict{Outcome: checker.Unknown, Reason: "no acquire succeeded"}
	}
	lines := wrongLines(run)
	if len(lines) != 1 || lines[0].what != "unknown" || len(lines[0].names) != len(checker.Properties()) {
		t.Errorf("it says: %+v", lines)
	}
}

// A violation that began earlier may be the cause of the others.
func TestTheCauseIsToldFirst(t *testing.T) {
	run := results.Run{Verdicts: map[checker.Property]checker.Verdict{
		checker.Exclusion: {Outcome: checker.Violated, Reason: "two hold it", AtMS: 14.4},
		checker.Ownership: {Outcome: checker.Violated, Reason: "one deleted it", AtMS: 13.6},
		checker.Cleanup:   {Outcome: checker.Unknown, Reason: "no server log"},
	}, Expected: map[checker.Property]checker.Outcome{checker.Exclusion: checker.OutcomeOK, checker.Ownership: checker.OutcomeOK, checker.Cleanup: checker.OutcomeOK}}
	for i, want := range []string{"one deleted it", "two hold it", "no server log"} {
		if lines := wrongLines(run); len(lines) != 3 || lines[i].reason != want {
			t.Errorf("line %d of %+v is not %q", i, lines, want)
		}
	}
}

// The logs of a library are taken while a run is played, and go where they went before
// when that is over.
func TestLogsAreCaptured(t *testing.T) {
	var outside strings.Builder
	was := log.Writer()
	log.SetOutput(&outside)
	defer log.SetOutput(was)
	said, restore := capture()
	log.Print("from log")
	slog.Warn("from slog", "n", 1)
	for i := range mostLines {
		slog.Info(fmt.Sprint("line ", i))
	}
	said.Printf(t.Context(), "from %s", "go-redis")
	restore()
	log.Print("after")
	if got := said.String(); !strings.Contains(got, "redis: from go-redis") || !strings.Contains(got, "after 3 more lines") || strings.Contains(got, "from log") {
		t.Errorf("the end of the log is\n%s", got)
	}
	if got := outside.String(); strings.Contains(got, "from") || !strings.Contains(got, "after") {
		t.Errorf("outside it says %q", got)
	}
}

// A single try with a lease of its own must not get the usual lease.
func TestATryKeepsTheLeaseOfItsOwn(t *testing.T) {
	var asked time.Duration
	f := &Funcs{
		Try:        func(context.Context) error { asked = -1; return nil },
		AcquireFor: func(_ context.Context, lease time.Duration) error { asked = lease; return nil },
	}
	for _, want := range []time.Duration{3 * time.Second, -1} {
		if _, err := f.TryLock(t.Context(), lock.Lease(max(want, 0))); err != nil || asked != want {
			t.Errorf("asked for %v, %v; want %v", asked, err, want)
		}
	}
}
