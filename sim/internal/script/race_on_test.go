//go:build race

package script_test

// raced says that the race detector is on, under which a sync.Pool drops entries
// at random.
const raced = true
