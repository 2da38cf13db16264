// Package linear judges whether the operations on one lock are linearizable (Herlihy and
// Wing, 1990). Linearizable operations could have happened one at a time, each at some
// instant between its call and its return.
//
// The question is NP-complete for objects in general (Gibbons and Korach,
// "Testing Shared Memories", 1997), so two judges answer it:
//
//   - [Fast] is made for locks. It reads the holds off the replies of each owner. Two
//     holds that are certain can follow one another in one order only, which
//     leaves one pass over the sorted operations. What that does not decide goes
//     to [Search], which is exact and has a budget.
//   - [Porcupine] is github.com/anishathalye/porcupine, a general checker after
//     Wing and Gong (1993) and Lowe ("Testing for linearizability", 2017). It
//     steps through the model of a lock, and uses nothing else of locks.
//
// Both use the same sequential lock, which is in model.go. [Judges] lets one
// confirm the other; a [DisagreementError] is a defect of this package.
//
// The package has no servers, faults and other properties: package checker translates a
// history into operations, and explains violations. docs/judges.md describes everything.
package linear
