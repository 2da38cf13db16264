package locks

import (
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/must"
)

// The description of a lock decides what it is judged by. One that makes no sense is
// refused with the field that is wrong.
func TestDescriptionCheck(t *testing.T) {
	good := Description{Name: "mine-2", Claims: history.Claims{Lease: true, Renewal: true}, RenewEvery: 0.34, Primaries: 5, Quorum: 3, Key: "lock:{name}", Reaches: []string{throughAddress}}
	must.Succeed(t, good.Check())
	for says, spoil := range map[string]func(*Description){
		"name":        func(d *Description) { d.Name = "" },
		"lower case":  func(d *Description) { d.Name = "My Lock" },
		"those who w": func(d *Description) { d.Claims = history.Claims{ReadWrite: true, PrefersWriters: true} },
		"quorum":      func(d *Description) { d.Quorum = 6 },
		"primaries":   func(d *Description) { d.Primaries = 10 },
		"renews":      func(d *Description) { d.Claims.Lease = false },
		"together":    func(d *Description) { d.RenewEvery = 0 },
		"part of":     func(d *Description) { d.RenewEvery = 5 },
		"handoff":     func(d *Description) { d.HandoffNS = -1 },
		"{name}":      func(d *Description) { d.Key = "lock" },
		"lowest":      func(d *Description) { d.Holder = "highest" },
		"primary thr": func(d *Description) { d.Reaches = []string{"dns"} },
		"args":        func(d *Description) { d.Servers = &BundledServers{Members: 3} },
		"members":     func(d *Description) { d.Servers = &BundledServers{Args: []string{"serve"}} },
		"no Redis":    func(d *Description) { d.Servers = &BundledServers{Args: []string{"serve"}, Members: 3} },
	} {
		d := good
		spoil(&d)
		if err := d.Check(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%+v is told %v, not of %q", d, err, says)
		}
	}
	keeps := Description{Keeps: []string{"session:{owner}", "queue:{name}"}}
	for key, want := range map[string]bool{"session:client-1": true, "session": false, "queue:stock": true, "queue:till": false} {
		if got := keeps.MayStay("stock", key); got != want {
			t.Errorf("%s may stay: %t", key, got)
		}
	}
	if k := good.KeyOf("stock"); k != "lock:stock" {
		t.Errorf("the key is %q", k)
	}
	if d := (Description{Primaries: 3}); d.Needs() != 3 || d.Groups() != 3 || d.KeyOf("a") != "a" {
		t.Errorf("of three primaries it needs %d of %d", d.Needs(), d.Groups())
	}
}
