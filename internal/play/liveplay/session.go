package liveplay

import (
	"context"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/adapter"
	"github.com/holdfast-go/holdfast/lock"
)

// remoteSession is a lock under test in a separate client process.
// It implements [locks.Session], [locks.Sharer] and [locks.Leaver].
type remoteSession struct{ process *adapter.Conversation }

func (s *remoteSession) Locker(name, thread string) lock.Locker {
	return s.process.Locker(name, thread)
}

func (s *remoteSession) ShareLocker(name, thread string, share history.Share) lock.Locker {
	return s.process.ShareLocker(name, thread, share)
}

// Observer implements [locks.Observer].
func (s *remoteSession) Observer(name, thread string) func(context.Context) (string, error) {
	return s.process.Locker(name, thread).Holder
}

// Identity implements [locks.Session]. It is empty if the process does not answer,
// which then does nothing under that identity either.
func (s *remoteSession) Identity(thread string) string {
	ctx, cancel := context.WithTimeout(context.Background(), endLimit)
	defer cancel()
	id, _ := s.process.Identity(ctx, thread)
	return id
}

func (s *remoteSession) Shutdown(ctx context.Context) error { return s.process.Shutdown(ctx) }

func (s *remoteSession) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), endLimit)
	defer cancel()
	return s.process.CloseLock(ctx)
}
