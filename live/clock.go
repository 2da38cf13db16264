package live

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// shim is what a library in the process of a server (shim/clock.c) makes the
// server's clock from: a file. It is what the machine's clock is until it is
// set, and a server that starts again still has it.
type shim struct {
	path string
	lib  string

	mu         sync.Mutex
	generation uint64
	now        span
}

// span is a part of true time in which a clock runs evenly: at the true time
// base it showed base + offset. Times are nanoseconds since 1970.
type span struct {
	base, offset int64
	rate         float64
}

func (s span) shown(now int64) int64 { return s.base + s.offset + int64(float64(now-s.base)*s.rate) }

// The layout of the file, see shim/clock.c.
const (
	clockName = "clock"
	clockPid  = 32
	clockSize = 40
)

// newShim makes a clock that is right, in a server's directory.
func newShim(dir, lib string) (*shim, error) {
	c := &shim{path: filepath.Join(dir, clockName), lib: lib, now: span{rate: 1}}
	if err := os.WriteFile(c.path, make([]byte, clockSize), 0o600); err != nil {
		return nil, fmt.Errorf("make a clock: %w", err)
	}
	return c, c.write(c.now)
}

// write tells the server. Whoever reads meanwhile reads again.
func (c *shim) write(s span) error {
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
	if err != nil {
		return fmt.Errorf("set a clock: %w", err)
	}
	return nil
}

// set moves the clock and lets it run at rate from now on. It returns when that
// was, and what the clock showed then.
func (c *shim) set(jump time.Duration, rate float64) (at, shows time.Time, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at = time.Now()
	base := at.UnixNano()
	next := span{base: base, offset: c.now.shown(base) - base + int64(jump), rate: rate}
	if err := c.write(next); err != nil {
		return at, at, err
	}
	c.now = next
	return at, time.Unix(0, base+next.offset), nil
}

// env makes a process read the clock.
func (c *shim) env() []string {
	preload := c.lib
	if other := os.Getenv("LD_PRELOAD"); other != "" {
		preload += ":" + other
	}
	return []string{"LD_PRELOAD=" + preload, "HOLDFAST_CLOCK=" + c.path}
}

// readBy says why the clock has no effect on a process, or nil.
func (c *shim) readBy(pid int) error {
	b, err := os.ReadFile(c.path)
	if err != nil {
		return fmt.Errorf("look at its clock: %w", err)
	}
	if len(b) != clockSize || binary.NativeEndian.Uint64(b[clockPid:]) != uint64(pid) {
		return fmt.Errorf("%w: the server does not read the clock it is given: it cannot be loaded before its libc", ErrUnavailable)
	}
	return nil
}

// SetClock moves a node's clock by jump, on top of what it was moved before,
// and lets it run at rate times real speed from now on. It needs
// [Options].Clocks. A node that is down starts with it.
func (s *Servers) SetClock(name string, jump time.Duration, rate float64) error {
	srv, err := s.node(name)
	switch {
	case err != nil:
		return err
	case srv.shim == nil:
		return errors.New("the servers were started without clocks of their own")
	case !(rate > 0):
		return errors.New("a clock's rate must be above 0")
	}
	at, shows, err := srv.shim.set(jump, rate)
	if err == nil {
		srv.clock.moved(at, shows, rate)
	}
	return err
}
