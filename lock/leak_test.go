package lock_test

import (
	"testing"

	"go.uber.org/goleak"
)

// A client that leaves goroutines behind leaks them in every process that
// opens and closes clients.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
