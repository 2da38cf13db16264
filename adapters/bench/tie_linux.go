package main

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// tie makes the kernel kill a command when this process dies, and keeps Ctrl-C
// from it: the benchmark ends it itself.
func tie(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}

// starter is a thread that lives as long as the process: Linux ties a child to
// the thread that started it.
var starter = sync.OnceValue(func() chan<- func() {
	work := make(chan func())
	go func() {
		runtime.LockOSThread()
		for f := range work {
			f()
		}
	}()
	return work
})

func start(cmd *exec.Cmd) error {
	done := make(chan error)
	starter() <- func() { done <- cmd.Start() }
	return <-done
}
