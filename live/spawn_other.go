//go:build !linux

package live

import "os/exec"

const tied = false

func spawn(*exec.Cmd) error        { return ErrUnavailable }
func identity(int) (string, error) { return "", ErrUnavailable }
func workDir(int) (string, error)  { return "", ErrUnavailable }
func ephemeral() int               { return 32768 }
func stopped(int) error            { return ErrUnavailable }
func awaitExit(int)                {}

// Remotes lists what the process is connected to, on Linux.
func (p *Process) Remotes() ([]string, error) { return nil, ErrUnavailable }
