package liveplay

import (
	"context"

	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/subject/adapter"
)

// remoteSession is a lock under test in a separate client process.
type remoteSession struct{ process *adapter.Conversation }

// Locker implements [subject.Session].
func (s *remoteSession) Locker(name, thread string) lock.Locker {
	return s.process.Locker(name, thread)
}

// Identity implements [subject.Session]. It is empty if the process does not answer,
// which then does nothing under that identity either.
func (s *remoteSession) Identity(thread string) string {
	ctx, cancel := context.WithTimeout(context.Background(), endLimit)
	defer cancel()
	id, _ := s.process.Identity(ctx, thread)
	return id
}

// Shutdown implements [subject.Leaver].
func (s *remoteSession) Shutdown(ctx context.Context) error { return s.process.Shutdown(ctx) }

// Close implements [subject.Session].
func (s *remoteSession) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), endLimit)
	defer cancel()
	return s.process.CloseLock(ctx)
}
