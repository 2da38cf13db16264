package sim

import (
	"time"
	"unsafe"
)

// clock is the own clock of a server or a client: true (virtual) time, shifted and stretched.
type clock struct {
	since time.Time // true time at which base was set
	base  time.Time // what the clock showed then
	rate  float64   // 1 is true time
}

// newClock is a clock that is right but for off.
func newClock(off time.Duration) clock {
	now := time.Now()
	return clock{since: now, base: now.Add(off), rate: 1}
}

func (c clock) now() time.Time {
	return c.base.Add(time.Duration(float64(time.Since(c.since)) * c.rate))
}

// set moves the clock by jump and lets it run at rate from now on.
func (c clock) set(jump time.Duration, rate float64) clock {
	return clock{since: time.Now(), base: c.now().Add(jump), rate: rate}
}

// until is the true time until the clock shows t. It may be negative.
func (c clock) until(t time.Time) time.Duration {
	return time.Duration(float64(t.Sub(c.now()))/c.rate) + 1
}

// epoch is the time at which every bubble begins.
var epoch = time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC)

// withMonotonic adds a monotonic reading to a time, which package time does for true
// times alone, and never in a bubble. With another layout of time.Time than that of Go 1.9
// and later, it returns the time without a reading.
func withMonotonic(wall time.Time, reading time.Duration) time.Time {
	const since1885 = 2682288000 // seconds until 1970
	t := time.Time{}
	of := (*struct {
		wall uint64
		ext  int64
		loc  *time.Location
	})(unsafe.Pointer(&t))
	of.wall = 1<<63 | uint64(wall.Unix()+since1885)<<30 | uint64(wall.Nanosecond())
	of.ext, of.loc = int64(reading), time.Local
	if !t.Round(0).Equal(wall) {
		return wall
	}
	return t
}
