package liveplay_test

import (
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/internal/live/servers"
	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/internal/play/liveplay"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// A run on real servers with the true clock would prove nothing.
func TestRealServersDoNotMoveTheClockOfAClient(t *testing.T) {
	s, err := scenarios.Find("client-clock-behind")
	must.Succeed(t, err)
	if ok, why := liveplay.Carries(s, locks.MustFind("getset"), servers.Backend{}); ok || !strings.Contains(why, "only virtual time") {
		t.Errorf("it is played: %t, %q", ok, why)
	}
}
