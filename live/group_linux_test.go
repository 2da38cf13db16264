package live

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// Locks in other languages come with a launcher: what it starts must be
// paused, and end, with it.
func TestChildrenOfAProcess(t *testing.T) {
	t.Parallel()
	s := bare(t)
	p, err := s.StartProcess(t.Context(), "client-1", []string{"sh", "-c", "sleep 60 & echo $! > child; wait"}, nil)
	check(t, err)
	file := filepath.Join(s.dir.path, "client-1", "child")
	child := 0
	eventually(t, "the child runs", func() bool {
		b, err := os.ReadFile(file)
		_, scan := fmt.Sscan(string(b), &child)
		return err == nil && scan == nil
	})
	check(t, p.Pause())
	if st, err := readState(fmt.Sprintf("/proc/%d", child)); err != nil || st.state != "T" {
		t.Errorf("the child of a paused process is in state %q, %v", st.state, err)
	}
	check(t, p.Resume())
	check(t, p.signal(syscall.SIGTERM)) // as if it ended by itself
	if err := p.Wait(shortly(t)); err == nil {
		t.Error("its end was not noticed")
	}
	eventually(t, "the child is gone", func() bool {
		st, err := readState(fmt.Sprintf("/proc/%d", child))
		return err != nil || st.state == "Z"
	})
}
