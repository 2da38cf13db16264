package processes

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// stopped says which thread of a process group has not stopped, nil for none.
func stopped(group int) error {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return fmt.Errorf("look for processes: %w", err)
	}
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err != nil {
			continue
		}
		state, err := readState(filepath.Join("/proc", e.Name()))
		if err != nil || state.group != group {
			continue // gone meanwhile, or not ours
		}
		if err := threadsStopped(e.Name()); err != nil {
			return err
		}
	}
	return nil
}

func threadsStopped(pid string) error {
	tasks, err := filepath.Glob("/proc/" + pid + "/task/*")
	if err != nil {
		return err
	}
	for _, task := range tasks {
		s, err := readState(task)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			continue // it has ended
		}
		if err != nil {
			return err
		}
		if !strings.Contains("TtZX", s.state) {
			return fmt.Errorf("thread %s is in state %s", filepath.Base(task), s.state)
		}
	}
	return nil
}

// procState is the kernel's state of a process or a thread.
type procState struct {
	state string // one letter
	group int
}

func readState(dir string) (procState, error) {
	stat, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return procState{}, err
	}
	// pid (name) state parent group ...: the name may hold anything.
	f := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(f) < 3 {
		return procState{}, fmt.Errorf("read %s: %q", dir, stat)
	}
	group, err := strconv.Atoi(f[2])
	if err != nil {
		return procState{}, fmt.Errorf("read %s: %w", dir, err)
	}
	return procState{f[0], group}, nil
}

// awaitExit returns when a child has exited, and leaves it to be waited for.
func awaitExit(pid int) {
	const pidType, exited, noWait = 1, 4, 0x1000000 // P_PID, WEXITED, WNOWAIT
	for {
		_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, pidType, uintptr(pid), 0, exited|noWait, 0, 0)
		if errno != syscall.EINTR {
			return
		}
	}
}
