package textbook

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// room is a lock with several holds. Each acquire has a name of its own for its hold. So
// a late request of an older acquire gives nothing to this one, and a late release takes
// nothing from it.
type room struct {
	Spin
	mode  string // of a lock for readers and writers
	asked int
	hold  string // the last one
}

// enter asks for a hold under a new name.
func (r *room) enter(ctx context.Context, script *redis.Script, args ...any) (bool, error) {
	r.asked++
	r.hold = fmt.Sprintf("%s#%s%d", r.owner, r.mode, r.asked)
	return script.Run(ctx, r.rdb, []string{r.name}, append([]any{r.hold}, args...)...).Bool()
}

// leave releases the last hold, also when the caller's context has ended. It returns
// ErrNotHeld when the lease is over.
func (r *room) leave(ctx context.Context, script *redis.Script, args ...any) error {
	ctx = context.WithoutCancel(ctx)
	held, err := script.Run(ctx, r.rdb, []string{r.name}, append([]any{r.hold}, args...)...).Bool()
	return released(ctx, held, err)
}

// wholeMillis is a lease for a script that adds it to the time of the server. The script
// drops what is less than a millisecond of that time, so a lease has one more.
func wholeMillis(lease time.Duration) int64 { return lease.Milliseconds() + 1 }

func ownerOf(hold string) string {
	owner, _, _ := strings.Cut(hold, "#")
	return owner
}
