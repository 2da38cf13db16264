// Package mutation measures how many arbitrary mistakes the catalogue and
// exploration find in locks. It changes the reference lock and the textbook locks
// by rule, one place at a time. It counts the mutants that no run distinguishes
// from the original.
//
// All mutants are in one binary: a rewritten copy of the locks switches each one
// on by an environment variable. [Options.Measure] plays them, and a [Report] has
// the score and every survivor.
package mutation
