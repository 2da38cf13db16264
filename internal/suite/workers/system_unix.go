//go:build unix

package workers

import (
	"os"
	"syscall"
)

// ownGroup starts a process in a process group of its own.
var ownGroup = &syscall.SysProcAttr{Setpgid: true}

// killGroup ends a process that was started with ownGroup, and what it started.
func killGroup(p *os.Process) { syscall.Kill(-p.Pid, syscall.SIGKILL) }
