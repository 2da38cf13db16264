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

// ErrUnavailable reports that this machine cannot run real servers; the wrapping
// error has the reason.
var ErrUnavailable = errors.New("no real servers on this machine")

// ErrNotLinux reports that the operating system does not support the live world.
var ErrNotLinux = errors.New("only Linux ends every process of a run when the harness dies, and shows which threads have stopped")

// Supported returns [ErrNotLinux], within [ErrUnavailable], if no process of the
// live world can run here, and nil otherwise.
func Supported() error {
	if !tied {
		return fmt.Errorf("%w: %w", ErrUnavailable, ErrNotLinux)
	}
	return nil
}
