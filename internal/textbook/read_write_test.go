package textbook_test

import (
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/textbook"
	"github.com/holdfast-go/holdfast/lock"
)

// Readers share the lock, and a writer has it alone.
func TestReadersAndWriters(t *testing.T) {
	inBubble(t, func(s server) {
		o := textbook.Options{Lease: lease}
		first, second := textbook.NewRead(s.client(nil), name, a, o), textbook.NewRead(s.client(nil), name, b, o)
		writer, other := textbook.NewWrite(s.client(nil), name, c, o), textbook.NewWrite(s.client(nil), name, a, o)
		s.take(first)
		s.take(second)
		s.busy(writer)
		s.release(first)
		s.busy(writer)
		s.release(second)
		s.take(writer)
		s.busy(first)
		s.busy(other)
		s.release(writer)
		if s.Exists(name) {
			s.Error("the key is still there")
		}
	})
}

// Each reader has a lease of its own.
func TestLeasesOfReaders(t *testing.T) {
	inBubble(t, func(s server) {
		o := textbook.Options{Lease: lease}
		first, second := textbook.NewRead(s.client(nil), name, a, o), textbook.NewRead(s.client(nil), name, b, o)
		writer := textbook.NewWrite(s.client(nil), name, c, o)
		s.take(first)
		s.take(second, lock.Lease(time.Second))
		time.Sleep(time.Second + time.Millisecond)
		s.busy(writer)
		_, err := second.Unlock(s.Context())
		s.wantErr(err, lock.ErrNotHeld)
		s.busy(writer)
		time.Sleep(lease - time.Second)
		s.take(writer)
		_, err = first.Unlock(s.Context())
		s.wantErr(err, lock.ErrNotHeld)
	})
}
