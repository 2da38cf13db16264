package profile_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/internal/redis/profile"
)

// A user believes what a profile says only if it says where that is from.
func TestProfilesHaveSources(t *testing.T) {
	for _, p := range profile.All() {
		if p.Summary == "" || p.Evidence == "" || p.Unknown == "" {
			t.Errorf("%s lacks its summary, its evidence or its error for an unknown command", p.Name)
		}
		for _, s := range p.Sources {
			if !strings.HasPrefix(s, "https://") {
				t.Errorf("%s: source %q is no address", p.Name, s)
			}
		}
		if len(p.Sources) == 0 {
			t.Errorf("%s has no source", p.Name)
		}
	}
}

// The errors are those that the binary of each version gave.
func TestRefusal(t *testing.T) {
	for _, c := range []struct {
		server, request string
		script          bool
		want            string
	}{
		{"redis-7", "delex k IFEQ v", false, "ERR unknown command 'delex', with args beginning with: 'k' 'IFEQ' 'v' "},
		{"redis-7", "SPUBLISH c m", false, ""},
		{"redis-6.2", "SPUBLISH c m", false, "ERR unknown command `SPUBLISH`, with args beginning with: `c`, `m`, "},
		{"redis-6.2", "EXPIRE k 10 nx", false, "ERR wrong number of arguments for 'expire' command"},
		{"redis-6.2", "EXPIRE nx 10", false, ""},
		{"redis-6.2", "SET k v GET NX", false, "ERR syntax error"},
		{"redis-6.2", "SET k v NX", false, ""},
		{"redis-8.4", "DELEX k IFEQ v", false, ""},
		{"valkey-9.1", "DELIFEQ k v", true, ""},
		{"redis-7-acl", "PUBLISH c m", false, "NOPERM this user has no permissions to access one of the channels used as arguments"},
		{"redis-7-acl", "PUBLISH c m", true, "ERR The user executing the script can't publish to the channel mentioned in the command"},
		{"elasticache-serverless", "wait 1 1000", false, "ERR unknown command 'wait'"},
		{"garnet", "EVALSHA x 0", false, "ERR This instance has Lua scripting support disabled"},
	} {
		p, err := profile.Find(c.server)
		must.Succeed(t, err)
		if got := p.Refusal(strings.Fields(c.request), c.script); got != c.want {
			t.Errorf("%s, %s: %q, not %q", c.server, c.request, got, c.want)
		}
	}
}

func TestWith(t *testing.T) {
	for commands, want := range map[string]string{"": profile.Default, "DELEX,SET IFEQ": "redis-8.4", "DELIFEQ,SET IFEQ": "valkey-9.1"} {
		list := slices.DeleteFunc(strings.Split(commands, ","), func(c string) bool { return c == "" })
		if got := profile.With(list).Name; got != want {
			t.Errorf("%s is first in %s, not in %s", commands, got, want)
		}
	}
}
