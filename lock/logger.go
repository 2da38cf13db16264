package lock

import (
	"context"
	"errors"
	"log/slog"
	"time"
)

// logTo returns an observer that logs every event, and passes it to next.
func logTo(l *slog.Logger, next Observer) Observer {
	o := next
	o.Lost = func(name, owner string, held time.Duration) {
		l.Warn("lock lost", "lock", name, "owner", owner, "held", held)
		if next.Lost != nil {
			next.Lost(name, owner, held)
		}
	}
	o.RenewalFailed = func(name, owner string, err error) {
		l.Warn("lock renewal failed", "lock", name, "owner", owner, "error", err)
		if next.RenewalFailed != nil {
			next.RenewalFailed(name, owner, err)
		}
	}
	o.AcquireDone = func(ctx context.Context, r AcquireResult) {
		switch {
		case errors.Is(r.Err, ErrUnknown):
			l.WarnContext(ctx, "lock acquire has an unknown outcome", "lock", r.Name, "owner", r.Owner, "took", r.Took, "error", r.Err)
		case r.Err != nil:
			l.DebugContext(ctx, "lock not acquired", "lock", r.Name, "owner", r.Owner, "took", r.Took, "error", r.Err)
		default:
			l.DebugContext(ctx, "lock acquired", "lock", r.Name, "owner", r.Owner, "took", r.Took, "token", r.Grant.Token)
		}
		if next.AcquireDone != nil {
			next.AcquireDone(ctx, r)
		}
	}
	o.ReleaseDone = func(ctx context.Context, r ReleaseResult) {
		switch {
		case errors.Is(r.Err, ErrUnknown):
			l.WarnContext(ctx, "lock release has an unknown outcome", "lock", r.Name, "owner", r.Owner, "held", r.Held, "error", r.Err)
		case r.Err != nil:
			l.DebugContext(ctx, "lock not released", "lock", r.Name, "owner", r.Owner, "held", r.Held, "error", r.Err)
		default:
			l.DebugContext(ctx, "lock released", "lock", r.Name, "owner", r.Owner, "held", r.Held, "left", r.Left)
		}
		if next.ReleaseDone != nil {
			next.ReleaseDone(ctx, r)
		}
	}
	return o
}
