package lock

import "time"

// retry is when the writer of a [hub] connects again after a failure.
type retry struct {
	at    time.Time
	pause time.Duration // before the one after that
}

// later postpones it by the pause, which it returns, and doubles the pause.
func (r *retry) later(now time.Time) (pause time.Duration) {
	pause, r.at = r.pause, now.Add(r.pause)
	r.pause = min(2*pause, hubBackoffMax)
	return pause
}

// broken is about a connection that broke. One without a use may lack the right to
// subscribe, and a sharded one may have lost its slot.
func (r *retry) broken(now time.Time, useful, sharded bool) {
	if !useful {
		r.later(now)
		return
	}
	r.pause = hubBackoff
	if sharded {
		r.at = now.Add(r.pause)
	}
}
