package sim

import "time"

// clock is a server's own clock: true (virtual) time, shifted and stretched.
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
