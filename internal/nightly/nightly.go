// Package nightly tells tests how much to play: a slice in make test, everything in
// make nightly.
package nightly

import "os"

// Variable is the environment variable that make nightly sets.
const Variable = "HOLDFAST_NIGHTLY"

func On() bool { return os.Getenv(Variable) != "" }

// Every says that a test plays one run of each n. It is n, or 1 where [Variable] is
// set.
func Every(n int) int {
	if On() {
		return 1
	}
	return n
}
