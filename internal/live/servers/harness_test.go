package servers

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/holdfast-go/holdfast/internal/live/internal/livetest"
	"github.com/holdfast-go/holdfast/internal/live/processes"
)

// A harness that is killed leaves its directory, which the next run removes,
// and no process.
func TestServersDieWithAHarnessThatIsKilled(t *testing.T) {
	t.Parallel()
	livetest.RequireRedis(t)
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), harnessDir+"="+dir)
	out, err := cmd.StdoutPipe()
	check(t, err)
	check(t, cmd.Start())
	defer cmd.Process.Kill()
	var who []int
	lines := bufio.NewScanner(out)
	for lines.Scan() && lines.Text() != "ready" {
		var pid int
		if _, err := fmt.Sscanf(lines.Text(), "pid %d", &pid); err != nil {
			t.Fatalf("the harness says %q", lines.Text())
		}
		who = append(who, pid)
	}
	if len(who) != 5 {
		t.Fatalf("%d servers run, want a primary, a replica and three Sentinels", len(who))
	}
	check(t, processes.Clean(dir)) // a run that is under way is left alone
	for _, pid := range who {
		if !alive(pid) {
			t.Fatalf("the clean-up of another run killed process %d", pid)
		}
	}
	check(t, cmd.Process.Kill())
	_ = cmd.Wait() // killed, as it should be
	eventually(t, "every server has died with its harness", func() bool { return !slices.ContainsFunc(who, alive) })
	if left, _ := filepath.Glob(filepath.Join(dir, "*", "*", "pid")); len(left) != 5 {
		t.Fatalf("the dead run left %v, so the next one has nothing to clean", left)
	}
	check(t, processes.Clean(dir))
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("the next run left %v, %v", left, err)
	}
}

// alive says whether a process runs. One that is only waited for does not.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !bytes.Contains(stat, []byte(") Z "))
}
