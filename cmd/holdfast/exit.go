package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfast-go/holdfast/internal/disk"
	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/holdfast-go/holdfast/internal/suite/workers"
)

// Exit codes. If several apply, the first of defect, interrupted, usage,
// unexpected, unknown wins.
const (
	exitOK          = 0   // every verdict as expected
	exitUnexpected  = 1   // some verdict not
	exitUsage       = 2   // bad usage or bad input
	exitUnknown     = 3   // some verdict unknown
	exitDefect      = 4   // a defect of holdfast itself
	exitInterrupted = 130 // Ctrl-C
)

// exitError ends the command with a code, a message, and hints.
type exitError struct {
	code  int
	msg   string // empty: the result on stdout suffices
	hints []string
	err   error
}

func (e *exitError) Error() string {
	if e.msg == "" && e.err != nil {
		return e.err.Error()
	}
	return e.msg
}

func (e *exitError) Unwrap() error { return e.err }

func usage(msg string, hints ...string) error {
	return &exitError{code: exitUsage, msg: msg, hints: hints}
}

// badInput is an error in a file or value from the user.
func badInput(err error, hints ...string) error {
	return &exitError{code: exitUsage, msg: err.Error(), err: err, hints: hints}
}

// badOut refuses the directory of --out.
func badOut(err error) error {
	if errors.Is(err, disk.ErrForeign) {
		return badInput(err, "choose a new directory with --out, or an empty one, or one that holds nothing but such results", "holdfast replaces only the files that its own results name")
	}
	return badInput(err, "choose another directory with --out")
}

func defect(err error, hints ...string) error {
	return &exitError{code: exitDefect, msg: err.Error(), err: err, hints: hints}
}

// printSome prints the first of many lines of one kind, and counts the others.
func printSome(stderr io.Writer, kind string, all []string, most int) {
	for _, text := range all[:min(len(all), most)] {
		fmt.Fprintf(stderr, "%s: %s\n", kind, text)
	}
	if more := len(all) - most; more > 0 {
		fmt.Fprintf(stderr, "and %d more\n", more)
	}
}

// ownDefects ends a command whose runs show defects of Holdfast.
func ownDefects(stderr io.Writer, all []string) error {
	printSome(stderr, "defect", all, 10)
	show := "show"
	if len(all) == 1 {
		show = "shows"
	}
	return defect(fmt.Errorf("%s %s a defect of holdfast itself", english.Count(len(all), "run"), show),
		"please report it, with the command and the version")
}

// wasKilled ends a command after somebody killed its worker processes.
func wasKilled(err *suite.KilledError) error {
	return &exitError{code: exitUnknown, msg: err.Error(), err: err, hints: []string{workers.KilledHint}}
}

// result ends the command with a code after the output has given the reason.
func result(code int) error {
	if code == exitOK {
		return nil
	}
	return &exitError{code: code}
}

func exitCode(stderr io.Writer, err error) int {
	if err == nil {
		return exitOK
	}
	var e *exitError
	if !errors.As(err, &e) {
		e = &exitError{code: exitDefect, msg: err.Error()}
		if errors.Is(err, context.Canceled) {
			e.code, e.msg = exitInterrupted, "interrupted"
		}
	}
	if e.msg != "" {
		msg, rest, _ := strings.Cut(e.msg, "\nhint: ") // errors of lower layers bring their own
		fmt.Fprintf(stderr, "holdfast: %s\n", msg)
		if rest != "" {
			fmt.Fprintf(stderr, "hint: %s\n", rest)
		}
	}
	for _, h := range e.hints {
		if h != "" {
			fmt.Fprintf(stderr, "hint: %s\n", h)
		}
	}
	return e.code
}

func quote(s string) string { return strconv.Quote(s) }

func flagNames(c *cobra.Command) []string {
	var names []string
	add := func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, "--"+f.Name)
		}
	}
	c.Flags().VisitAll(add)
	c.InheritedFlags().VisitAll(add)
	return names
}
