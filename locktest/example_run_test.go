package locktest_test

import (
	"testing"

	"github.com/holdfast-go/holdfast/locktest"
)

// The examples of locks with room for several keep their promise in the plain scenarios.
// Both believe a grant that came late, as simple locks do.
func TestExamplesOfRooms(t *testing.T) {
	for _, l := range []locktest.Lock{threePermits, readersAndWriters} {
		t.Run(l.Name, func(t *testing.T) {
			locktest.Run(t, l, locktest.Scenarios("contention", "several-owners", "holder-crash", "late-release", "failover-lost-write", "key-deleted"))
		})
	}
}
