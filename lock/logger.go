package lock

import (
	"context"
	"errors"
	"log/slog"
	"time"
)

// logTo returns an observer that logs every event but successful renewals, and passes it
// to next.
func logTo(l *slog.Logger, next Observer) Observer {
	done := func(ctx context.Context, call string, err error, args ...any) {
		switch {
		case errors.Is(err, ErrUnknown):
			l.WarnContext(ctx, "lock "+call+" has an unknown outcome", append(args, "error", err)...)
		case err != nil:
			l.DebugContext(ctx, "lock "+call+" failed", append(args, "error", err)...)
		default:
			l.DebugContext(ctx, "lock "+call+" succeeded", args...)
		}
	}
	return Observer{
		AcquireDone: func(ctx context.Context, r AcquireResult) {
			done(ctx, "acquire", r.Err, "lock", r.Name, "owner", r.Owner, "took", r.Took, "token", r.Grant.Token)
			next.AcquireDone(ctx, r)
		},
		ReleaseDone: func(ctx context.Context, r ReleaseResult) {
			done(ctx, "release", r.Err, "lock", r.Name, "owner", r.Owner, "held", r.Held, "left", r.Left)
			next.ReleaseDone(ctx, r)
		},
		RenewDone: func(name, owner string, err error) {
			if err != nil {
				l.Warn("lock renewal failed", "lock", name, "owner", owner, "error", err)
			}
			next.RenewDone(name, owner, err)
		},
		Lost: func(name, owner string, held time.Duration) {
			l.Warn("lock lost", "lock", name, "owner", owner, "held", held)
			next.Lost(name, owner, held)
		},
	}
}
