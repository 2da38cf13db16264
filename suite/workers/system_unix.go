//go:build unix

package workers

import (
	"os"
	"syscall"
	"time"
)

// ownGroup starts a process in a process group of its own.
var ownGroup = &syscall.SysProcAttr{Setpgid: true}

// killGroup ends a process that was started with ownGroup, and what it started.
func killGroup(p *os.Process) { syscall.Kill(-p.Pid, syscall.SIGKILL) }

// processorTime is how long this process has had a processor.
func processorTime() (time.Duration, error) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, err
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), nil
}
