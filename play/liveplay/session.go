package liveplay

import (
	"context"

	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/subject/adapter"
)

// remoteSession is a lock under test in a separate client process.
type remoteSession struct{ process *adapter.Conversation }

// Locker implements [Session].
func (s *remoteSession) Locker(name, thread string) lock.Locker {
	return s.process.Locker(name, thread)
}

// Identity implements [Session]. It is empty when the process cannot be asked any more: then it does
// nothing under that identity either.
func (s *remoteSession) Identity(thread string) string {
	ctx, cancel := context.WithTimeout(context.Background(), farewell)
	defer cancel()
	id, _ := s.process.Identity(ctx, thread)
	return id
}

// Close implements [Session].
func (s *remoteSession) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), farewell)
	defer cancel()
	return s.process.CloseLock(ctx)
}
