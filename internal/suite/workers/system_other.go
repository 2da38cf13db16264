//go:build !unix

package workers

import (
	"os"
	"syscall"
)

// ownGroup is empty: this system has no process groups.
var ownGroup = &syscall.SysProcAttr{}

// killGroup ends a process, but not what it started.
func killGroup(p *os.Process) { p.Kill() }
