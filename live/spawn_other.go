//go:build !linux

package live

import (
	"errors"
	"os/exec"
)

var errLinux = errors.New("servers of the live world run on Linux only: elsewhere they would outlive a harness that is killed")

func spawn(*exec.Cmd) error        { return errLinux }
func identity(int) (string, error) { return "", errLinux }
func workDir(int) (string, error)  { return "", errLinux }
func ephemeral() int               { return 32768 }
