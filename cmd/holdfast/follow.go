package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/checker/linear"
	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/history"
	"github.com/holdfast-go/holdfast/suite"
)

// pollEvery is how often a file that is being written is asked for more.
const pollEvery = 50 * time.Millisecond

var errGzipped = errors.New("it is gzipped, and cannot be followed")

// followOne is "holdfast check --follow".
func followOne(c *cobra.Command, args []string, f checkFlags) error {
	switch {
	case f.picture != "" || len(args) != 1:
		return usage("--follow takes one history at a time, and draws no picture")
	case c.Flags().Changed("judge") && f.judges != string(linear.FastOnly):
		return usage("only the fast judge can follow a run", "judge the whole history when the run is over")
	case f.cutOff:
		return usage("--follow reads a history that is still being written, --cut-off one that never will be")
	case c.Flags().Changed("budget"):
		return usage("--follow has no budget: it judges as fast as the run goes on")
	}
	return follow(c.Context(), args[0], c.InOrStdin(), c.OutOrStdout())
}

// follow judges a history while it is being written: the linearizability of
// every lock, as events come in. It stops at the first violation.
func follow(ctx context.Context, path string, stdin io.Reader, stdout io.Writer) error {
	in := stdin
	if path == "-" {
		path = "stdin"
	} else {
		f, _, err := openInput(ctx, path)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return badInput(err, badHistoryHint(err))
		}
		defer f.Close()
		in = &growing{ctx: ctx, f: f}
	}
	w := &watcher{path: path, out: stdout}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	// Reading may block for as long as the run is silent.
	done := make(chan error, 1)
	events := make(chan history.Event)
	go func() { done <- decodeInto(ctx, in, w, events) }()
	for {
		select {
		case e := <-events:
			v, err := w.online.Add(e)
			if err != nil {
				return w.invalid(err)
			}
			w.events, w.last = w.events+1, e.Time
			if v.Outcome == checker.Violated {
				return w.print(v)
			}
			if e.Kind == history.End {
				v, err := w.online.Close()
				if err != nil {
					return w.invalid(err)
				}
				return w.print(v)
			}
		case err := <-done:
			if ctx.Err() != nil {
				return w.interrupted(ctx.Err())
			}
			return w.invalid(err)
		case <-ctx.Done():
			return w.interrupted(ctx.Err())
		}
	}
}

// decodeInto sends the events of a history until it ends or cannot be read
// further, which is always an error: the End event is the last that is wanted.
func decodeInto(ctx context.Context, in io.Reader, w *watcher, events chan<- history.Event) error {
	buffered := bufio.NewReader(in)
	if suite.Gzipped(buffered) {
		return errGzipped // its end would wait for more, and keep what was read last
	}
	d, err := history.NewDecoder(buffered)
	if err != nil {
		return err
	}
	w.header = d.Header()
	if err := faults.Recall(&w.header, nil); err != nil {
		return err
	}
	if w.online, err = checker.NewOnline(w.header); err != nil {
		return err
	}
	for {
		e, err := d.Next()
		if err != nil {
			return err
		}
		select {
		case events <- e:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// watcher is what follow knows of the history. The header and online are set
// before the first event is sent.
type watcher struct {
	path   string
	out    io.Writer
	header history.Header
	online *checker.Online
	events int
	last   int64
}

func (w *watcher) invalid(err error) error {
	var invalid *history.InvalidError
	switch {
	case errors.As(err, &invalid) && invalid.CutOff:
		return badInput(fmt.Errorf("%s: %w", w.path, err), "its recording was cut off; without --follow, holdfast check --cut-off judges what there is")
	case errors.As(err, &invalid):
		return badInput(fmt.Errorf("%s: %w", w.path, err), "a history that is not whole, or of another version, proves nothing of its lock")
	case errors.Is(err, errGzipped):
		return badInput(fmt.Errorf("%s: %w", w.path, err), "zcat HISTORY | holdfast check --follow -", "without --follow it is read as it is")
	}
	return badInput(fmt.Errorf("read %s: %w", w.path, err))
}

// interrupted tells how far the history was judged.
func (w *watcher) interrupted(err error) error {
	if w.events > 0 {
		w.print(checker.Verdict{Outcome: checker.Unknown, Reason: "interrupted; nothing was wrong until then"})
	}
	return err
}

// print writes the verdict and returns the exit code as an error.
func (w *watcher) print(v checker.Verdict) error {
	h := w.header
	fmt.Fprintf(w.out, "%s: %s with %s, seed %d, %s world\n", w.path, h.Scenario, h.Lock, h.Seed, h.World)
	fmt.Fprintf(w.out, "  %s  %s", checker.Linearizable, v.Outcome)
	if v.Reason != "" {
		fmt.Fprintf(w.out, "  %s", v.Reason)
	}
	for i, id := range v.Ops {
		sep := ", "
		if i == 0 {
			sep = "; operations "
		}
		fmt.Fprintf(w.out, "%s%d", sep, id)
	}
	fmt.Fprintf(w.out, "\n  after %d events, at %.3f s\n", w.events, float64(w.last)/float64(time.Second))
	switch v.Outcome {
	case checker.Violated:
		return result(exitUnexpected)
	case checker.Unknown:
		return result(exitUnknown)
	}
	return nil
}

// growing reads a file that is still being written: at its end it waits for
// more. A pipe by name ends like any other.
type growing struct {
	ctx  context.Context
	f    *os.File
	read int64
}

func (g *growing) Read(p []byte) (int, error) {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		n, err := g.f.Read(p)
		g.read += int64(n)
		if n > 0 || !errors.Is(err, io.EOF) {
			return n, err
		}
		info, err := g.f.Stat()
		switch {
		case err != nil:
			return 0, err
		case !info.Mode().IsRegular():
			return 0, io.EOF
		case info.Size() < g.read:
			return 0, errors.New("the file became shorter while it was read")
		}
		select {
		case <-tick.C:
		case <-g.ctx.Done():
			return 0, g.ctx.Err()
		}
	}
}
