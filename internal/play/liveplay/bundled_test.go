package liveplay

import (
	"testing"

	"github.com/holdfast-go/holdfast/internal/live/servers"
	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// Where the servers of a lock are not installed, the reason is in the results.
func TestMissingServersAreReported(t *testing.T) {
	const why = "the database is not installed"
	d := locks.Description{Name: "in-a-database", Servers: &locks.BundledServers{Args: []string{"serve"}, Members: 2}}
	s, err := scenarios.Find("contention")
	must.Succeed(t, err)
	for _, missing := range []string{"", why} {
		d.Servers.Missing = missing
		l, err := locks.NewThirdParty(d, nil)
		must.Succeed(t, err)
		ok, reason := Carries(s, l, servers.Backend{Bundled: servers.Bundle([]string{"adapter"}, d.Servers)})
		if ok != (missing == "") || reason != missing {
			t.Errorf("missing %q: played %v, %q", missing, ok, reason)
		}
	}
}
