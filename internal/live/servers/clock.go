package servers

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/internal/live/processes"
)

// clock is the clock of one server or client, which a library in its process reads
// from a file (shim/clock.c). It follows the machine's clock until it is set, and
// survives a restart of the server.
type clock struct {
	path string
	lib  string

	mu         sync.Mutex
	generation uint64
	spans      []span // in order of time; the first has no start
}

// span is a period of true time in which a clock ran evenly: at the true time base
// it showed base + offset. Times are nanoseconds since 1970.
type span struct {
	base, offset int64
	rate         float64
}

func (s span) shown(now int64) int64 { return s.base + s.offset + int64(float64(now-s.base)*s.rate) }

func (s span) trueTime(shown int64) int64 {
	return s.base + int64(float64(shown-s.base-s.offset)/s.rate)
}

// The layout of the file, see shim/clock.c.
const (
	clockName = "clock"
	clockPid  = 32
	clockSize = 40
)

// newClock makes a correct clock, in the directory of its process.
func newClock(dir, lib string) (*clock, error) {
	c := &clock{path: filepath.Join(dir, clockName), lib: lib, spans: []span{{rate: 1}}}
	if err := os.WriteFile(c.path, make([]byte, clockSize), 0o600); err != nil {
		return nil, fmt.Errorf("make a clock: %w", err)
	}
	return c, c.write(c.spans[0])
}

// write publishes the clock to the server. A concurrent reader reads again.
func (c *clock) write(s span) error {
	f, err := os.OpenFile(c.path, os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("set a clock: %w", err)
	}
	defer f.Close()
	put := func(at int64, words ...uint64) {
		var b []byte
		for _, w := range words {
			b = binary.NativeEndian.AppendUint64(b, w)
		}
		if err == nil {
			_, err = f.WriteAt(b, at)
		}
	}
	c.generation += 2
	put(0, c.generation-1)
	put(8, uint64(s.base), uint64(s.offset), math.Float64bits(s.rate))
	put(0, c.generation)
	return failed(err, "set a clock")
}

// set moves the clock and lets it run at rate from now on.
func (c *clock) set(jump time.Duration, rate float64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now().UnixNano()
	last := c.spans[len(c.spans)-1]
	next := span{base: now, offset: last.shown(now) - now + int64(jump), rate: rate}
	if err := c.write(next); err != nil {
		return err
	}
	c.spans = append(c.spans, next)
	return nil
}

// trueTime is when the clock showed a time. If it did so more than once, as after
// a jump back, trueTime is the nearest one that is not after near. If it never
// did, as in a jump forward, it is the moment of the jump.
func (c *clock) trueTime(shown, near int64) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	var best, least int64
	for i, s := range c.spans {
		exact := s.trueTime(shown)
		t := min(exact, near)
		if i+1 < len(c.spans) {
			t = min(t, c.spans[i+1].base)
		}
		if i > 0 {
			t = max(t, s.base)
		}
		missed := distance(t, exact) / int64(2*time.Millisecond) // logs cut off what is less than one
		if i == 0 || missed < least || missed == least && distance(t, near) < distance(best, near) {
			best, least = t, missed
		}
	}
	return best
}

// shown is the time that the clock showed at a true time.
func (c *clock) shown(at int64) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range slices.Backward(c.spans) {
		if at >= s.base {
			return s.shown(at)
		}
	}
	return at
}

func distance(a, b int64) int64 { return max(a-b, b-a) }

func (c *clock) env() []string {
	preload := c.lib
	if other := os.Getenv("LD_PRELOAD"); other != "" {
		preload += ":" + other
	}
	return []string{"LD_PRELOAD=" + preload, "HOLDFAST_CLOCK=" + c.path}
}

// readBy returns the reason why the clock has no effect on a process, or nil.
func (c *clock) readBy(pid int) error {
	b, err := os.ReadFile(c.path)
	if err != nil {
		return fmt.Errorf("look at its clock: %w", err)
	}
	if len(b) != clockSize || binary.NativeEndian.Uint64(b[clockPid:]) != uint64(pid) {
		return fmt.Errorf("%w: the server does not read the clock it is given: it cannot be loaded before its libc", processes.ErrUnavailable)
	}
	return nil
}

// ClientClock makes the clock of a client's process, in its directory, and returns the
// environment that makes the process read it: nothing without [Options].ClientClocks.
func (s *Servers) ClientClock(client, dir string) (env []string, err error) {
	if !s.opts.ClientClocks {
		return nil, nil
	}
	c, err := newClock(dir, filepath.Join(s.dir.Path, shimName))
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wall[client] = c
	return c.env(), nil
}

// SetClock moves a node's clock by jump, in addition to earlier jumps, and lets it
// run at rate times real speed from now on. It needs [Options].Clocks. A node that
// is down starts with it. Of a client it moves the wall clock of its process.
func (s *Servers) SetClock(name string, jump time.Duration, rate float64) error {
	if !(rate > 0) {
		return errors.New("a clock's rate must be above 0")
	}
	s.mu.Lock()
	wall := s.wall[name]
	s.mu.Unlock()
	if wall != nil {
		return wall.set(jump, rate)
	}
	srv, err := s.node(name)
	switch {
	case err != nil:
		return err
	case srv.external != nil:
		return srv.mayControl()
	case srv.clock == nil:
		return errors.New("the servers were started without clocks of their own")
	}
	return srv.clock.set(jump, rate)
}

// TrueTime is when the server's clock showed a time, by the clock of the harness.
// near is a true time soon after it, which decides between two candidates after a
// jump; the result has near's monotonic reading.
func (srv *Server) TrueTime(shown, near time.Time) time.Time {
	at := shown.UnixNano()
	switch {
	case srv.clock != nil:
		at = srv.clock.trueTime(at, near.UnixNano())
	case srv.external != nil:
		at -= int64(srv.external.ahead)
	}
	return near.Add(time.Duration(at - near.UnixNano()))
}

// Shown is the time that the server's clock showed at a true time.
func (srv *Server) Shown(at time.Time) time.Time {
	switch {
	case srv.clock != nil:
		return time.Unix(0, srv.clock.shown(at.UnixNano()))
	case srv.external != nil:
		at = at.Add(srv.external.ahead)
	}
	return at.Round(0)
}
