package processes

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// RunDir is the directory of one run. It has a directory for each server, with its
// configuration, log, data and pid, and a file that stays locked while the harness
// lives.
type RunDir struct {
	Path string
	lock *os.File
}

const (
	runPrefix = "holdfast-live-"
	lockName  = "lock"
	pidName   = "pid"
)

// NewRunDir creates the directory of a run in parent. It makes parent again, as the
// clean-up of another harness may have removed it between two runs.
func NewRunDir(parent string) (*RunDir, error) {
	path, err := os.MkdirTemp(parent, runPrefix)
	for tries := 0; errors.Is(err, fs.ErrNotExist) && tries < 3; tries++ {
		_ = os.Mkdir(parent, 0o755) // the next line says what is wrong
		path, err = os.MkdirTemp(parent, runPrefix)
	}
	if err != nil {
		return nil, fmt.Errorf("make a directory for the servers: %w", err)
	}
	if path, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	// Locked before it has its name: a process that sees it unlocked sees a dead run.
	f, err := os.Create(filepath.Join(path, lockName+".new"))
	if err == nil {
		err = lockFile(f)
	}
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(path, lockName))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock the servers' directory: %w", err), os.RemoveAll(path))
	}
	return &RunDir{Path: path, lock: f}, nil
}

// Make creates the directory of a server or a client.
func (d *RunDir) Make(name string) (string, error) {
	path := filepath.Join(d.Path, name)
	if err := os.Mkdir(path, 0o700); err != nil {
		return "", fmt.Errorf("make the directory of %s: %w", name, err)
	}
	return path, nil
}

func (d *RunDir) Remove() error {
	return errors.Join(os.RemoveAll(d.Path), d.lock.Close())
}

// WritePID records the process of a server's directory.
func WritePID(dir string, pid int) error {
	id, err := identity(pid)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, pidName), fmt.Appendf(nil, "%d %s\n", pid, id), 0o600)
}

// abandoned is the age from which an unlocked run directory counts as left behind:
// a run locks it right after its creation.
const abandoned = time.Minute

// Clean removes the remains of killed runs in parent: surviving servers and their
// directories. It ignores runs in progress, and kills only the process that a run
// had started in its directory.
func Clean(parent string) error {
	entries, err := os.ReadDir(parent)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for what earlier runs left: %w", err)
	}
	var errs []error
	for _, e := range entries {
		if e.IsDir() && strings.HasPrefix(e.Name(), runPrefix) {
			if err := cleanRun(filepath.Join(parent, e.Name())); err != nil {
				errs = append(errs, fmt.Errorf("clean what an earlier run left in %s: %w", e.Name(), err))
			}
		}
	}
	return errors.Join(errs...)
}

func cleanRun(path string) error {
	if mine, err := ownedByUs(path); err != nil || !mine {
		return err
	}
	f, err := os.Open(filepath.Join(path, lockName))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if info, err := os.Stat(path); err != nil || time.Since(info.ModTime()) < abandoned {
			return nil // just made, or just gone
		}
		// The run ended before it had the lock, so nothing else is there.
		os.Remove(filepath.Join(path, lockName+".new"))
		if err := os.Remove(path); err != nil && !errors.Is(err, syscall.ENOTEMPTY) {
			return err
		}
		return nil
	case err != nil:
		return err
	default:
		defer f.Close()
		if err := lockFile(f); err != nil {
			return nil // its harness lives
		}
	}
	pids, err := filepath.Glob(filepath.Join(path, "*", pidName))
	if err != nil {
		return err
	}
	for _, p := range pids {
		if err := killRecorded(p); err != nil {
			return err
		}
	}
	return os.RemoveAll(path)
}

// ownedByUs says whether a directory belongs to this user: in a shared place others run
// servers too. One that has just gone has no owner.
func ownedByUs(path string) (bool, error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return isOurs(info), nil
}

// killRecorded kills the process of a pid file, if it is still the same process
// and runs in the directory of the file.
func killRecorded(file string) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	number, was, _ := strings.Cut(strings.TrimSpace(string(b)), " ")
	pid, err := strconv.Atoi(number)
	if err != nil || pid <= 1 {
		return nil // cut off in the middle: it was never started for good
	}
	p, err := os.FindProcess(pid) // a handle on this very process, where the system has such
	if err != nil {
		return nil
	}
	defer p.Release()
	is, err := identity(pid)
	if err != nil || is != was {
		return nil
	}
	dir, err := workDir(pid)
	if err != nil || !sameFile(dir, filepath.Dir(file)) {
		return nil
	}
	if err := p.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill process %d: %w", pid, err)
	}
	for deadline := time.Now().Add(limit); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if is, err := identity(pid); err != nil || is != was {
			return nil
		}
	}
	return fmt.Errorf("process %d does not die", pid)
}

func sameFile(a, b string) bool {
	x, errA := os.Stat(a)
	y, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(x, y)
}
