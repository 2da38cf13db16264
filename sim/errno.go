package sim

import "syscall"

// netError is an error of the simulated network. Its text is the same on every
// operating system, because histories quote it. Callers find the number of the
// error with errors.Is.
type netError struct {
	text  string
	errno syscall.Errno
}

func (e *netError) Error() string { return e.text }
func (e *netError) Unwrap() error { return e.errno }

var (
	errReset   = &netError{"connection reset by peer", syscall.ECONNRESET}
	errPipe    = &netError{"broken pipe", syscall.EPIPE}
	errRefused = &netError{"connection refused", syscall.ECONNREFUSED}
)
