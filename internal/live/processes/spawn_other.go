//go:build !linux

package processes

import (
	"net"
	"os"
	"os/exec"
	"syscall"
)

const tied = false

// No process is ever spawned here, so no signal is ever sent.
const StopSignal, ContinueSignal = syscall.SIGTERM, syscall.SIGTERM

func Spawn(*exec.Cmd) error                 { return ErrNotLinux }
func signalGroup(int, syscall.Signal) error { return ErrNotLinux }
func lockFile(*os.File) error               { return ErrNotLinux }
func isOurs(os.FileInfo) bool               { return false }
func identity(int) (string, error)          { return "", ErrNotLinux }
func workDir(int) (string, error)           { return "", ErrNotLinux }
func stopped(int) error                     { return ErrNotLinux }
func awaitExit(int)                         {}

func (p *Process) ReadsClockByLibc() error { return ErrNotLinux }

// Remotes lists what the process is connected to, on Linux.
func (p *Process) Remotes() ([]string, error) { return nil, ErrNotLinux }

// SocketInode and HasSocket find the process at the other end of a connection, on
// Linux.
func SocketInode(_, _ *net.TCPAddr) string { return "" }
func HasSocket(int, string) bool           { return false }
