package liveplay_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/internal/live/processes"
	"github.com/holdfast-go/holdfast/internal/live/servers"
	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/internal/play/liveplay"
	"github.com/holdfast-go/holdfast/scenarios"
)

// A run on real servers with the true clock would prove nothing.
func TestTheClockOfAGoProcessDoesNotMove(t *testing.T) {
	s, err := scenarios.Find("client-clock-behind")
	must.Succeed(t, err)
	w := &liveplay.World{}
	found, err := w.Locks(t.Context(), []string{"getset"})
	must.Succeed(t, err)
	why, err := w.Lacks(s, found[0])
	must.Succeed(t, err)
	if !strings.Contains(why, "runs in Go") {
		t.Errorf("it is played: %q", why)
	}
}

// The path of a program stands for a backend, if the program is there.
func TestFindBackendByPath(t *testing.T) {
	own, err := os.Executable()
	must.Succeed(t, err)
	if b, err := liveplay.FindBackend(own); err != nil || b.Program != own || b.Name() != servers.Redis {
		t.Errorf("%+v, %v", b, err)
	}
	if _, err := liveplay.FindBackend("./no/valkey-server"); !errors.Is(err, processes.ErrUnavailable) {
		t.Errorf("a program that is not there: %v", err)
	}
}
