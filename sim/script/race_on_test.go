//go:build race

package script_test

// raced says that the race detector watches, under which a sync.Pool drops what
// it has at random.
const raced = true
