package main

import (
	"fmt"

	"github.com/holdfast-go/holdfast/live/processes"
)

// needLinux is an error of usage where the live world cannot run. what is the
// flag or command that asks for it.
func needLinux(what string) error {
	if processes.Supported() == nil {
		return nil
	}
	return badInput(fmt.Errorf("%s needs Linux: %w", what, processes.ErrNotLinux), "--world sim works here")
}
