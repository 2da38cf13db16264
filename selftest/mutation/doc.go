// Package mutation measures how many mistakes the catalogue and exploration
// find in locks that nobody chose for it. It changes the reference lock and the
// textbook locks by rule, in one place at a time, and counts the mutants that no
// run tells from the original.
//
// All mutants live in one binary. a copy of the locks is rewritten so that an
// environment variable switches one on. [Options.Measure] plays them, and a
// [Report] has the score and every survivor.
package mutation
