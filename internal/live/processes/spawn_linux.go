package processes

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
)

// tied says that what Spawn starts dies with this process.
const tied = true

// starter runs functions on one thread that lives as long as the process. Linux
// ties a child's life to the thread that started it, and Go's other threads may
// end at any time.
var starter = sync.OnceValue(func() chan<- func() {
	work := make(chan func())
	go startLoop(work)
	return work
})

func startLoop(work <-chan func()) {
	runtime.LockOSThread() // for ever: the thread must not end
	for f := range work {
		f()
	}
}

// Spawn starts a command that the kernel kills when this process dies, however
// it dies. It is in a process group of its own: Ctrl-C is for the harness.
func Spawn(cmd *exec.Cmd) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = new(syscall.SysProcAttr)
	}
	cmd.SysProcAttr.Pdeathsig, cmd.SysProcAttr.Setpgid = syscall.SIGKILL, true
	done := make(chan error)
	starter() <- func() { done <- cmd.Start() }
	return <-done
}

// The signals that suspend a process and let it go on.
const (
	StopSignal     = syscall.SIGSTOP
	ContinueSignal = syscall.SIGCONT
)

func signalGroup(pid int, sig syscall.Signal) error { return syscall.Kill(-pid, sig) }

// lockFile locks a file for as long as it is open, and fails at once when
// another process holds the lock.
func lockFile(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }

func isOurs(info os.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Getuid()
}

// identity tells a process apart from a later one with the same pid: when it started, and
// in which boot of the machine. A process that has ended, but that no process has waited
// for, has none.
func identity(pid int) (string, error) {
	stat, err := readStat(fmt.Sprintf("/proc/%d", pid))
	if err != nil {
		return "", err
	}
	if stat.state == "Z" || stat.state == "X" {
		return "", fmt.Errorf("process %d: %w", pid, os.ErrProcessDone)
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", err
	}
	return stat.start + " " + strings.TrimSpace(string(boot)), nil
}

func workDir(pid int) (string, error) {
	return os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
}
