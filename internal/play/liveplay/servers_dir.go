package liveplay

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/holdfast-go/holdfast/internal/live/processes"
	"github.com/holdfast-go/holdfast/internal/suite"
)

// serversDir is where the servers of a run directory run.
type serversDir string

const serversName = "servers"

// openServers makes the place where servers run, and ends what runs that were
// killed have left: in this run directory, and in those beside it.
func openServers(d suite.Dir) (serversDir, error) {
	own := d.File(serversName)
	left, err := serversBeside(d)
	if err != nil {
		return "", err
	}
	if info, err := os.Lstat(own); err == nil && info.IsDir() && !slices.Contains(left, own) {
		left = append(left, own)
	}
	for _, dir := range left {
		if err := processes.Clean(dir); err != nil {
			return "", err
		}
		if dir != own {
			os.Remove(dir) // if it is empty now; a run in progress makes it again
		}
	}
	if err := os.Mkdir(own, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("make a place for servers: %w", err)
	}
	if info, err := os.Lstat(own); err != nil || !info.IsDir() {
		return "", fmt.Errorf("make a place for servers: %s is not a directory", own)
	}
	return serversDir(own), nil
}

// serversBeside lists where servers run in this run directory and those beside
// it, among them the live halves of comparisons.
func serversBeside(d suite.Dir) ([]string, error) {
	beside := []string{filepath.Dir(filepath.Clean(string(d)))}
	if filepath.Base(string(d)) == "live" { // one itself
		beside = append(beside, filepath.Dir(beside[0]))
	}
	var found []string
	for _, parent := range beside {
		entries, err := os.ReadDir(parent)
		if err != nil {
			return nil, fmt.Errorf("look for what earlier runs left: %w", err)
		}
		for _, e := range entries {
			for _, run := range []string{filepath.Join(parent, e.Name()), filepath.Join(parent, e.Name(), "live")} {
				servers := filepath.Join(run, serversName)
				if info, err := os.Lstat(servers); err == nil && info.IsDir() && suite.Holds(run) {
					found = append(found, servers)
				}
			}
		}
	}
	return found, nil
}

// close removes the directory when the servers have left nothing in it. Another
// harness may have removed it already.
func (s serversDir) close() error {
	if err := os.Remove(string(s)); err != nil && !errors.Is(err, syscall.ENOTEMPTY) && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
