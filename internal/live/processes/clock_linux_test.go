package processes

import (
	"strings"
	"testing"
)

// A library moves the clock of a shell, and not that of a program in Go, also when a shell
// has started it.
func TestReadsClockByLibc(t *testing.T) {
	idle, _ := run(t, []string{"sh", "-c", "read line"})
	if err := idle.ReadsClockByLibc(); err != nil {
		t.Errorf("a shell: %v", err)
	}
	own, _ := play(t, "silent")
	if err := own.ReadsClockByLibc(); err == nil || !strings.Contains(err.Error(), "is written in Go") {
		t.Errorf("this test: %v", err)
	}
}
