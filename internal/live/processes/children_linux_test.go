package processes

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/must"
)

// Locks in other languages come with a launcher: what it starts must be
// paused, and end, with it.
func TestChildrenOfAProcess(t *testing.T) {
	t.Parallel()
	p, dir := run(t, []string{"sh", "-c", "sleep 60 & echo $! > child; wait"})
	file := filepath.Join(dir, "child")
	child := 0
	eventually(t, "the child runs", func() bool {
		b, err := os.ReadFile(file)
		_, scan := fmt.Sscan(string(b), &child)
		return err == nil && scan == nil
	})
	must.Succeed(t, p.Pause())
	if st, err := readStat(fmt.Sprintf("/proc/%d", child)); err != nil || st.state != "T" {
		t.Errorf("the child of a paused process is in state %q, %v", st.state, err)
	}
	if err := stopped(p.cmd.Process.Pid); err != nil {
		t.Errorf("when Pause returned: %v", err)
	}
	must.Succeed(t, p.Resume())
	must.Succeed(t, p.signal(syscall.SIGTERM)) // as if it ended by itself
	if err := p.Wait(shortly(t)); err == nil {
		t.Error("its end was not noticed")
	}
	eventually(t, "the child is gone", func() bool {
		st, err := readStat(fmt.Sprintf("/proc/%d", child))
		return err != nil || st.state == "Z"
	})
}

func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	for deadline := time.Now().Add(limit); !f(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %s", limit, what)
		}
	}
}
