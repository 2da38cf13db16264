package processes

import (
	"bytes"
	"debug/buildinfo"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// stopped says which thread of a process group has not stopped, nil for none.
func stopped(group int) error {
	members, err := membersOf(group)
	if err != nil {
		return fmt.Errorf("look for processes: %w", err)
	}
	for _, dir := range members {
		if err := threadsStopped(dir); err != nil {
			return err
		}
	}
	return nil
}

// ReadsClockByLibc returns the reason why a library that is loaded before libc does not move
// the clock of the process, or nil. The process may be a shell that has started another.
func (p *Process) ReadsClockByLibc() error {
	members, err := membersOf(p.cmd.Process.Pid)
	if err != nil {
		return fmt.Errorf("look for processes: %w", err)
	}
	for _, dir := range members {
		program, err := os.Readlink(dir + "/exe")
		if err != nil {
			continue // it has ended
		}
		if _, err := buildinfo.ReadFile(program); err == nil {
			return fmt.Errorf("%s is written in Go, which asks the kernel for the time", filepath.Base(program))
		}
		f, err := elf.Open(program)
		if err != nil {
			return fmt.Errorf("read %s: %w", program, err)
		}
		dynamic := slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP })
		if err := f.Close(); err != nil || !dynamic {
			return errors.Join(err, fmt.Errorf("%s is linked statically, and loads no library", filepath.Base(program)))
		}
	}
	return nil
}

func membersOf(group int) ([]string, error) {
	all, err := filepath.Glob("/proc/[0-9]*")
	return slices.DeleteFunc(all, func(dir string) bool {
		s, err := readStat(dir)
		return err != nil || s.group != strconv.Itoa(group) // gone meanwhile, or not ours
	}), err
}

func threadsStopped(process string) error {
	tasks, err := filepath.Glob(process + "/task/*")
	if err != nil {
		return err
	}
	for _, task := range tasks {
		s, err := readStat(task)
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

// procStat is the kernel's description of a process or a thread.
type procStat struct {
	state string // one letter
	group string
	start string // in ticks after the boot of the machine
}

func readStat(dir string) (procStat, error) {
	stat, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return procStat{}, err
	}
	// pid (name) state parent group ...: the name may hold anything; the start is field 22.
	f := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(f) < 20 {
		return procStat{}, fmt.Errorf("read %s: %q", dir, stat)
	}
	return procStat{state: f[0], group: f[2], start: f[19]}, nil
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
