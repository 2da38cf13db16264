// Bench-locks measures the reference lock beside other locks on one Redis
// server that it starts itself. See docs/bench-locks.md.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"
)

// defaultLease is that of every hold, but where renewals are measured.
const defaultLease = 30 * time.Second

// settings are the amounts to measure.
type settings struct {
	redisson               string
	rounds, block          int
	handoffRounds          int
	handoffSpan            time.Duration
	waiters                []int
	locks                  int
	lease, crowdLease      time.Duration
	uncontended, contended bool
	renewals, crowd        bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bench-locks:", err)
		os.Exit(1)
	}
}

func parse(args []string) (settings, error) {
	s := settings{waiters: []int{2, 64}, crowdLease: defaultLease}
	f := flag.NewFlagSet("bench-locks", flag.ContinueOnError)
	f.StringVar(&s.redisson, "redisson", "", "`command` of the adapter for Redisson; without it Redisson is not measured")
	f.IntVar(&s.rounds, "rounds", 60, "rounds of uncontended pairs")
	f.IntVar(&s.block, "pairs", 160, "pairs of each lock in a round")
	f.IntVar(&s.handoffRounds, "handoff-rounds", 4, "rounds of hand-offs")
	f.DurationVar(&s.handoffSpan, "handoff-span", 500*time.Millisecond, "how long each lock hands on in a round")
	f.IntVar(&s.locks, "locks", 10000, "locks that are renewed")
	f.DurationVar(&s.lease, "lease", 6*time.Second, "lease of the locks that are renewed")
	quick := f.Bool("quick", false, "see in some seconds that everything works")
	only := f.String("only", "", "one `part`: uncontended, handoff, renewals or crowd")
	if err := f.Parse(args); err != nil {
		return s, err
	}
	if *quick {
		s.rounds, s.block, s.handoffRounds, s.handoffSpan = 3, 32, 1, 200*time.Millisecond
		s.waiters, s.locks, s.lease = []int{2}, 500, 1500*time.Millisecond
		s.crowdLease = s.lease
	}
	s.uncontended = *only == "" || *only == "uncontended"
	s.contended = *only == "" || *only == "handoff"
	s.renewals = *only == "" || *only == "renewals"
	s.crowd = *only == "" || *only == "crowd"
	return s, nil
}

func run(ctx context.Context, args []string, w io.Writer) (err error) {
	s, err := parse(args)
	if err != nil {
		return err
	}
	srv, err := startServer(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, srv.stop()) }()
	locks := append(goContenders(), redisson(s.redisson))

	var out bytes.Buffer // a table is whole or not there
	var b bars
	for _, b.regime = range []string{waking, awake} {
		if (s.uncontended || s.contended) && err == nil {
			err = measureRegime(ctx, srv, s, locks, &out, &b)
		}
	}
	b.regime = ""
	if s.renewals && err == nil {
		err = measureRenewals(ctx, srv, s, locks, &out, &b)
	}
	if s.crowd && err == nil {
		err = measureCrowds(ctx, srv, s, locks, &out, &b)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%d cores, %s/%s, %s, redis-server %s\n\n", runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version(), srv.version)
	b.write(w)
	fmt.Fprintf(w, "\n")
	_, err = out.WriteTo(w)
	return err
}

// measureRegime measures what depends on whether cores sleep.
func measureRegime(ctx context.Context, srv *server, s settings, locks []contender, w io.Writer, b *bars) error {
	fmt.Fprintf(w, "### With %s\n\n", b.regime)
	if b.regime == awake {
		stop, err := keepAwake()
		if err != nil {
			fmt.Fprintf(w, "Not measured: %v.\n\n", err)
			return nil
		}
		defer stop()
	}
	if s.uncontended {
		if err := measureUncontended(ctx, srv, s, locks, w, b); err != nil {
			return err
		}
	}
	if s.contended {
		return measureHandoffs(ctx, srv, s, locks, w, b)
	}
	return nil
}

func measureUncontended(ctx context.Context, srv *server, s settings, locks []contender, w io.Writer, b *bars) error {
	contenders := openAll(ctx, srv.addr, defaultLease, append(floors(), locks...))
	defer closeAll(contenders)
	p, err := uncontended(ctx, srv, contenders, s.rounds, s.block)
	if err != nil {
		return err
	}
	uncontendedReport(w, b, contenders, p)
	for _, o := range contenders {
		if f, ok := o.client.(*foreignClient); ok {
			us, err := f.pipe(ctx, 1000)
			if err != nil {
				return err
			}
			fmt.Fprintf(w, "\n%s %s runs in a process of its own: every call passes a pipe, whose round trip alone takes %.0f us.\n", o.name, f.version, us)
		}
	}
	fmt.Fprintln(w)
	return srv.flush(ctx)
}

func measureHandoffs(ctx context.Context, srv *server, s settings, locks []contender, w io.Writer, b *bars) error {
	for _, apart := range []bool{false, true} {
		for _, n := range s.waiters {
			before, err := roundTrip(ctx, srv, 100)
			if err != nil {
				return err
			}
			hc := handoffCase{n, apart}
			h, why, err := contended(ctx, srv, locks, hc, s.handoffRounds, s.handoffSpan)
			if err != nil {
				return err
			}
			after, err := roundTrip(ctx, srv, 100)
			if err != nil {
				return err
			}
			trip := spreadOf([]float64{before, (before + after) / 2, after})
			handoffReport(w, b, locks, hc, h, why, trip)
			fmt.Fprintf(w, "\nA round trip after a pause of %v takes %.0f us.\n\n", settle, trip.median)
			if err := srv.flush(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

func measureRenewals(ctx context.Context, srv *server, s settings, locks []contender, w io.Writer, b *bars) error {
	cost := make([]renewalCost, len(locks))
	why := make([]error, len(locks))
	for i, l := range locks {
		cost[i], why[i] = renewals(ctx, srv, l, s.locks, s.lease)
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	fmt.Fprintf(w, "%d locks with a lease of %v, renewed each %v:\n\n", s.locks, s.lease, s.lease/3)
	renewalReport(w, b, locks, s.locks, cost, why)
	return nil
}

func measureCrowds(ctx context.Context, srv *server, s settings, locks []contender, w io.Writer, b *bars) error {
	ours := slices.DeleteFunc(slices.Clone(locks), func(l contender) bool { return !l.ours })
	costs := make([]crowd, len(ours))
	for i, l := range ours {
		var err error
		if costs[i], err = measureCrowd(ctx, srv, l, s.locks, s.crowdLease); err != nil {
			return fmt.Errorf("%s: %w", l.name, err)
		}
	}
	fmt.Fprintf(w, "\n%d holds, and as many waiters for one lock, with a lease of %v. Requests are script calls, counted for %v:\n\n", s.locks, s.crowdLease, s.crowdLease/3)
	crowdReport(w, b, ours, s.locks, costs)
	return nil
}

func redisson(command string) contender {
	return contender{name: "redisson", lock: true, foreign: true, open: openForeign(command, "redisson")}
}

// label is the lock's name with its version.
func (s contender) label() string {
	name := s.name
	if s.module != "" {
		info, _ := debug.ReadBuildInfo()
		for _, d := range info.Deps {
			if d.Path == s.module {
				name += " " + d.Version
			}
		}
	}
	if s.foreign {
		name += " (another runtime)"
	}
	return strings.TrimSpace(name)
}
