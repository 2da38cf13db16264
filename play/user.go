package play

import (
	"time"

	"github.com/holdfast-go/holdfast/history"
	"github.com/holdfast-go/holdfast/lock"
)

// longestHop is the longest that a message to or from the resource takes.
const longestHop = 500 * time.Microsecond

// careful reports whether the client stops its work when the validity of its hold
// is over.
func (c *worker) careful() bool { return c.work.UserOf() == history.Careful }

// polls reports whether an acquire must not wait: a user that counts the lease
// itself does so from the call on. Whether a lock names the validity of its grants
// is not known before one.
func (c *worker) polls() bool {
	return !c.waits || c.careful() && c.lease && !c.lostSign && !c.named
}

// validity is until when a careful user works with a grant that it called for at
// some time; zero for as long as the work takes.
func (c *worker) validity(g lock.Grant, called time.Time, lease time.Duration) time.Time {
	switch {
	case !c.careful():
		return time.Time{}
	case !g.Until.IsZero():
		return g.Until
	case c.lostSign || !c.lease:
		return time.Time{}
	}
	return called.Add(lease)
}
