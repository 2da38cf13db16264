package live

import (
	"sync"
	"time"
)

// serverClock knows what a server's clock has shown at any time. Until it is
// moved it is the clock of this machine. It may be used by several goroutines.
type serverClock struct {
	mu    sync.Mutex
	moves []clockMove // in order of time
}

// clockMove says that from the true time at on, a clock shows shows and what
// has passed since, times rate.
type clockMove struct {
	at, shows time.Time
	rate      float64
}

// moved tells that the clock was moved. at has to come from [time.Now], rate
// has to be above 0.
func (c *serverClock) moved(at, shows time.Time, rate float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.moves = append(c.moves, clockMove{at, shows, rate})
}

// shown is what the clock showed at a true time.
func (c *serverClock) shown(at time.Time) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := len(c.moves) - 1; i >= 0; i-- {
		if m := c.moves[i]; !at.Before(m.at) {
			return m.shows.Round(0).Add(time.Duration(float64(at.Sub(m.at)) * m.rate))
		}
	}
	return at.Round(0)
}

// slack is how far what a clock shows may be off right after it was moved.
const slack = time.Millisecond

// truly is when the clock showed a time. A clock that was put back shows the
// same time twice; the later one that is not after the time by is meant. by
// has to come from [time.Now], and the result has a monotonic reading too.
func (c *serverClock) truly(shown, by time.Time) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	end := by
	for i := len(c.moves) - 1; i >= 0; i-- {
		m := c.moves[i]
		if m.at.After(by) {
			continue
		}
		at := m.at.Add(time.Duration(float64(shown.Sub(m.shows.Round(0))) / m.rate))
		if !at.Before(m.at.Add(-slack)) && !at.After(end.Add(slack)) {
			return at
		}
		end = m.at
	}
	// The clock of this machine may be set: by knows both clocks, now.
	at := by.Add(shown.Sub(by.Round(0)))
	if at.After(end.Add(slack)) { // a time that the clock has jumped over
		return end
	}
	return at
}
