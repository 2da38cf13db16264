// Package schemata switches mutants on that live in one binary. The code that
// package mutation rewrites calls it wherever a mutant differs from
// the original. At most one mutant is on, for the life of the process.
package schemata

import (
	"cmp"
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
	"time"
)

const (
	// Variable is the environment variable with the number of the mutant that is
	// on. Without it, or with 0, the code is the original.
	Variable = "HOLDFAST_MUTANT"
	// ReachedVariable is the environment variable with the name of a file. The original
	// appends the number of each mutant that it reaches to the file, one in a line.
	ReachedVariable = "HOLDFAST_REACHED"
	// Kind is the kind of job that a binary with mutants plays. It gives an [Answer].
	Kind = "schemata"
	// Most is the largest number of mutants of a binary.
	Most = 1 << 14
)

// Answer is the result of a job of [Kind] beside the verdicts.
type Answer struct {
	Reached []int // mutants whose code the original has run
	Grants  int   // acquires that succeeded
}

// on is the number of the mutant that is on; 0 is the original.
var on = func() int {
	n, _ := strconv.Atoi(os.Getenv(Variable)) // a missing variable means the original
	return n
}()

// met are the mutants whose code the original has run.
var met [Most]atomic.Bool

// list is where the original writes them; nil for nowhere.
var list = func() *os.File {
	name := os.Getenv(ReachedVariable)
	if name == "" || on != 0 {
		return nil
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		panic(err) // the numbers would be missing without a notice
	}
	return f
}()

// meet records that the original has run the code of mutant n.
func meet(n int) {
	if !met[n].Load() && !met[n].Swap(true) && list != nil {
		if _, err := fmt.Fprintln(list, n); err != nil {
			panic(err)
		}
	}
}

// Reached returns the mutants whose code has run since the last call, in
// ascending order. Only the original records them; a mutant returns nothing.
func Reached() []int {
	var all []int
	for n := range met {
		if met[n].Swap(false) {
			all = append(all, n)
		}
	}
	return all
}

// On reports whether mutant n is on.
func On(n int) bool {
	if on == 0 {
		meet(n)
	}
	return on == n
}

// Less is a < b, or a <= b if mutant n is on.
func Less[T cmp.Ordered](n int, a, b T) bool {
	if On(n) {
		return a <= b
	}
	return a < b
}

// LessOrEqual is a <= b, or a < b if mutant n is on.
func LessOrEqual[T cmp.Ordered](n int, a, b T) bool {
	if On(n) {
		return a < b
	}
	return a <= b
}

// Greater is a > b, or a >= b if mutant n is on.
func Greater[T cmp.Ordered](n int, a, b T) bool { return Less(n, b, a) }

// GreaterOrEqual is a >= b, or a > b if mutant n is on.
func GreaterOrEqual[T cmp.Ordered](n int, a, b T) bool { return LessOrEqual(n, b, a) }

// Integer is any type of whole numbers.
type Integer interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64
}

// Next is v, or v + 1 if mutant n is on.
func Next[T Integer](n int, v T) T {
	if On(n) {
		return v + 1
	}
	return v
}

// Tenfold is d, or ten times d if mutant n is on.
func Tenfold(n int, d time.Duration) time.Duration {
	if On(n) {
		return 10 * d
	}
	return d
}

// Tenth is d, or a tenth of d if mutant n is on.
func Tenth(n int, d time.Duration) time.Duration {
	if On(n) {
		return d / 10
	}
	return d
}

// Text is the text of the mutant that is on, or text if it has none.
func Text(text string, mutants map[int]string) string {
	if m, ok := mutants[on]; ok {
		return m
	}
	return text
}

// Use is v. Mutants first to last change the code that made it.
func Use[T any](first, last int, v T) T {
	for n := first; on == 0 && n <= last; n++ {
		meet(n)
	}
	return v
}
