package suite

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/faults"
)

// pollEvery is the interval of reads from a growing file.
const pollEvery = 50 * time.Millisecond

// ErrGzipped reports that a gzipped history cannot be followed.
var ErrGzipped = errors.New("it is gzipped, and cannot be followed")

// Followed is the verdict on a growing history, and how far it reaches.
type Followed struct {
	Header  history.Header
	Verdict checker.Verdict // on [checker.Linearizable]
	Events  int
	Last    int64 // time of the last of them
}

// Text writes the verdict and its reach. path names the history.
func (f Followed) Text(w io.Writer, path string) error {
	h, v := f.Header, f.Verdict
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s with %s, seed %d, %s world\n", path, h.Scenario, h.Lock, h.Seed, h.World)
	fmt.Fprintf(&b, "  %s  %s", checker.Linearizable, v.Outcome)
	if v.Reason != "" {
		fmt.Fprintf(&b, "  %s", v.Reason)
	}
	for i, id := range v.Ops {
		sep := ", "
		if i == 0 {
			sep = "; operations "
		}
		fmt.Fprintf(&b, "%s%d", sep, id)
	}
	fmt.Fprintf(&b, "\n  after %d events, at %.3f s\n", f.Events, float64(f.Last)/float64(time.Second))
	_, err := io.WriteString(w, b.String())
	return err
}

// Follow judges the linearizability of every lock in a growing history. It stops
// at the first violation. If the history becomes unreadable or ctx ends, it
// returns the verdict so far with the error.
func Follow(ctx context.Context, in io.Reader) (Followed, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var f follower
	// Reading may block for as long as the run is silent.
	done := make(chan error, 1)
	events := make(chan history.Event)
	go func() { done <- f.decode(ctx, in, events) }()
	known := Followed{}
	for {
		select {
		case e := <-events:
			known.Header = f.header
			v, err := f.online.Add(e)
			if err != nil {
				return known, err
			}
			known.Verdict, known.Events, known.Last = v, known.Events+1, e.Time
			if v.Outcome == checker.Violated {
				return known, nil
			}
			if e.Kind == history.End {
				known.Verdict, err = f.online.Close()
				return known, err
			}
		case err := <-done:
			if ctx.Err() != nil {
				err = ctx.Err()
			}
			return known, err
		case <-ctx.Done():
			return known, ctx.Err()
		}
	}
}

// follower reads the history. It sets its fields before it sends the first
// event.
type follower struct {
	header history.Header
	online *checker.Online
}

// decode sends the events of a history until it ends or cannot be read further.
// Either is an error, because the caller stops at the End event.
func (f *follower) decode(ctx context.Context, in io.Reader, events chan<- history.Event) error {
	buffered := bufio.NewReader(in)
	if isGzipped(buffered) {
		return ErrGzipped // its end would wait for more, and keep what was read last
	}
	d, err := history.NewDecoder(buffered)
	if err != nil {
		return err
	}
	f.header = d.Header()
	if err := faults.Recall(&f.header, nil); err != nil {
		return err
	}
	if f.online, err = checker.NewOnline(f.header); err != nil {
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

// Growing reads a file that is still being written: at its end it waits for
// more, until ctx ends. A pipe by name ends like any other.
func Growing(ctx context.Context, f *os.File) io.Reader { return &growing{ctx: ctx, f: f} }

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
