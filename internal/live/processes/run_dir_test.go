package processes

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/must"
)

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	must.Succeed(t, os.WriteFile(path, []byte(text), 0o600))
}

// Even where the kernel did not do it, the next run kills the servers of a dead one:
// those, and no others.
func TestCleanKillsTheProcessesOfADeadRunOnly(t *testing.T) {
	t.Parallel()
	if !tied {
		t.Skip("not tried: this is not Linux, where processes can be told apart")
	}
	parent := t.TempDir()
	run := filepath.Join(parent, runPrefix+"dead")
	sleeper := func(name, in string, note func(pid int, id string) string) (alive func() bool) {
		dir := filepath.Join(run, name)
		must.Succeed(t, os.MkdirAll(dir, 0o700))
		cmd := exec.Command("sleep", "60")
		cmd.Dir = dir
		if in != "" {
			cmd.Dir = in
		}
		must.Succeed(t, cmd.Start())
		ended := make(chan struct{})
		go func() { cmd.Wait(); close(ended) }()
		t.Cleanup(func() { cmd.Process.Kill(); <-ended })
		id, err := identity(cmd.Process.Pid)
		must.Succeed(t, err)
		writeFile(t, filepath.Join(dir, pidName), note(cmd.Process.Pid, id))
		return func() bool {
			is, err := identity(cmd.Process.Pid)
			return err == nil && is == id
		}
	}
	honest := func(pid int, id string) string { return fmt.Sprintf("%d %s\n", pid, id) }
	ours := sleeper("ours", "", honest)
	later := sleeper("later", "", func(pid int, id string) string { return fmt.Sprintf("%d 1%s\n", pid, id) })
	elsewhere := sleeper("elsewhere", t.TempDir(), honest)
	cut := sleeper("cut", "", func(pid int, id string) string { return fmt.Sprint(pid) })
	writeFile(t, filepath.Join(run, lockName), "")

	must.Succeed(t, Clean(parent))
	if ours() {
		t.Error("a server of the dead run lives")
	}
	if !later() {
		t.Error("a process was killed that has only the pid of a server")
	}
	if !elsewhere() {
		t.Error("a process was killed that does not run in the server's directory")
	}
	if !cut() {
		t.Error("a process was killed on the word of half a pid file")
	}
	if left, err := os.ReadDir(parent); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}

func TestCleanLeavesWhatIsNotARun(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	must.Succeed(t, os.MkdirAll(filepath.Join(parent, "somebody's", "data"), 0o700))
	writeFile(t, filepath.Join(parent, runPrefix+"notes"), "a file, not a directory")
	young, old := filepath.Join(parent, runPrefix+"young"), filepath.Join(parent, runPrefix+"old")
	must.Succeed(t, os.Mkdir(young, 0o700))
	must.Succeed(t, os.Mkdir(old, 0o700))
	past := time.Now().Add(-2 * abandoned)
	must.Succeed(t, os.Chtimes(old, past, past))
	must.Succeed(t, Clean(parent))
	entries, err := os.ReadDir(parent)
	must.Succeed(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if got, want := strings.Join(names, " "), runPrefix+"notes "+runPrefix+"young somebody's"; got != want {
		t.Errorf("left is %q, want %q", got, want)
	}
	must.Succeed(t, Clean(filepath.Join(parent, "nowhere")))
}
