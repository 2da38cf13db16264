package main

import (
	"errors"
	"fmt"
	"os/exec"
	"runtime"
)

// The two regimes. A core without work sleeps, and to wake it takes as long as a request.
// A busy service has cores that are awake.
const (
	waking = "cores that wake each other"
	awake  = "cores that stay awake"
)

// keepAwake gives each core work that any other work displaces, until stop.
func keepAwake() (stop func(), err error) {
	var all []*exec.Cmd
	stop = func() {
		for _, cmd := range all {
			_ = cmd.Process.Kill()
			_ = cmd.Wait() // "killed" is no news
		}
	}
	for range runtime.NumCPU() {
		cmd := exec.Command("chrt", "--idle", "0", "sh", "-c", "while :; do :; done")
		tie(cmd)
		if err := start(cmd); err != nil {
			stop()
			return nil, fmt.Errorf("keep cores awake: %w", errors.Join(err, errors.New("chrt of util-linux is needed")))
		}
		all = append(all, cmd)
	}
	return stop, nil
}
