//go:build unix

// Package processor tells how long this process has had a processor.
package processor

import (
	"syscall"
	"time"
)

// Time is the processor time of this process so far.
func Time() (time.Duration, error) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, err
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), nil
}
