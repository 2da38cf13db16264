// Package processes runs the operating system processes of the live world. The
// kernel kills them when the harness dies. The package pauses and kills them as
// process groups, and cleans up after earlier runs.
//
// A [Process] is a client process, which speaks the protocol of package adapter.
// Servers use only [Spawn] and the [RunDir].
//
// Processes run on Linux only.
package processes

import (
	"errors"
	"fmt"
	"time"
)

// limit bounds every wait for a process.
const limit = 30 * time.Second

// ErrUnavailable says that this machine cannot run real servers; the error
// around it says why.
var ErrUnavailable = errors.New("no real servers on this machine")

// ErrNotLinux says that the operating system lacks what the live world is made
// of.
var ErrNotLinux = errors.New("only Linux ends every process of a run when the harness dies, and shows which threads have stopped")

// Supported is [ErrNotLinux], within [ErrUnavailable], where no process of the
// live world can run, and nil elsewhere.
func Supported() error {
	if !tied {
		return fmt.Errorf("%w: %w", ErrUnavailable, ErrNotLinux)
	}
	return nil
}
