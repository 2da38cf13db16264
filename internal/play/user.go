package play

import (
	"time"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/lock"
)

// longestHop is the longest latency of a message to or from the resource.
const longestHop = 500 * time.Microsecond

// careful reports whether the client stops its work at the end of its hold's validity.
func (c *thread) careful() bool { return c.work.UserOf() == history.Careful }

// polls reports whether an acquire must not wait: a user that counts the lease
// itself counts from the call. Before the first grant it is unknown whether the
// lock states a validity.
func (c *thread) polls() bool {
	return !c.waits || c.careful() && c.claims.Lease && !c.claims.LostSign && !c.named
}

// validity is until when a careful user works under a grant that it requested at
// some time; zero for no limit.
func (c *thread) validity(g lock.Grant, called time.Time, lease time.Duration) time.Time {
	switch {
	case !c.careful():
		return time.Time{}
	case !g.Until.IsZero():
		return g.Until.Add(-c.early)
	case c.claims.LostSign || !c.claims.Lease:
		return time.Time{}
	}
	return called.Add(lease - c.early)
}
