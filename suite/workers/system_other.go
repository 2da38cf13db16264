//go:build !unix

package workers

import (
	"errors"
	"os"
	"syscall"
	"time"
)

// ownGroup is empty: this system has no process groups.
var ownGroup = &syscall.SysProcAttr{}

// killGroup ends a process, but not what it started.
func killGroup(p *os.Process) { p.Kill() }

func processorTime() (time.Duration, error) { return 0, errors.ErrUnsupported }
