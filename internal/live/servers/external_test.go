package servers

import (
	"errors"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/internal/live/internal/livetest"
)

func discover(t *testing.T, addresses ...string) (*External, error) {
	t.Helper()
	var list []Address
	for _, text := range addresses {
		a, err := ParseAddress(text)
		check(t, err)
		list = append(list, a)
	}
	return Discover(t.Context(), list, Guest{})
}

func TestAddressesOfServers(t *testing.T) {
	for text, want := range map[string]string{
		"redis://127.0.0.1:6379":                            "redis://127.0.0.1:6379",
		"redis://127.0.0.1:6379/0":                          "redis://127.0.0.1:6379",
		"redis://[::1]:6379":                                "redis://[::1]:6379",
		"redis://me:s3cret@localhost:6379":                  "redis://***@localhost:6379",
		"rediss://me:s3cret@localhost:6379":                 "rediss://***@localhost:6379",
		"sentinels://127.0.0.1:1/m":                         "sentinels://127.0.0.1:1/m",
		"clusters://127.0.0.1:1":                            "clusters://127.0.0.1:1",
		"sentinel://:s3cret@127.0.0.1:1,127.0.0.1:2/master": "sentinel://***@127.0.0.1:1,127.0.0.1:2/master",
		"cluster://:a@s3cret@127.0.0.1:7001,127.0.0.1:7002": "cluster://***@127.0.0.1:7001,127.0.0.1:7002",
	} {
		if a, err := ParseAddress(text); err != nil || a.String() != want {
			t.Errorf("%s is shown as %s, %v", text, a, err)
		}
	}
	for text, want := range map[string]string{
		"127.0.0.1:6379":                       "begins with redis://",
		"http://127.0.0.1:6379":                "begins with redis://",
		"redis://127.0.0.1":                    "not HOST:PORT",
		"redis://s3cret@127.0.0.1:6379":        "USER:PASSWORD",
		"redis://me:s3cret%zz@127.0.0.1:6379":  "hexadecimal",
		"redis://:s3cret@127.0.0.1:6379/3":     "only database 0",
		"redis://127.0.0.1:6379,127.0.0.1:638": "one server",
		"sentinel://:s3cret@127.0.0.1:26379":   "ends with what the Sentinels call",
		"cluster://127.0.0.1:7001/0":           "addresses only",
	} {
		switch _, err := ParseAddress(text); {
		case err == nil || !strings.Contains(err.Error(), want):
			t.Errorf("%s: %v, want %q", text, err, want)
		case strings.Contains(err.Error(), "s3cret"):
			t.Errorf("the password is shown: %v", err)
		}
	}
}

func TestServersThatCannotBeUsedAreRefused(t *testing.T) {
	t.Parallel()
	addr := livetest.SpawnRedis(t, "requirepass s3cret")
	first, plain := livetest.SpawnRedis(t, ""), livetest.SpawnRedis(t, "rename-command MONITOR \"\"")
	replica := livetest.SpawnRedis(t, "replicaof "+strings.ReplaceAll(first, ":", " "))
	cluster := livetest.SpawnRedis(t, "cluster-enabled yes\ncluster-port "+livetest.FreePort(t))
	for _, tt := range []struct {
		addresses []string
		want      string
	}{
		{[]string{"redis://" + addr}, "NOAUTH"},
		{[]string{"redis://:wr0ng@" + addr}, "WRONGPASS"},
		{[]string{"redis://" + plain}, "MONITOR"},
		{[]string{"redis://" + replica}, "replica of"},
		{[]string{"redis://" + cluster}, "cluster://"},
		{[]string{"cluster://" + cluster}, "no node serves any slot"},
		{[]string{"cluster://" + first}, "cluster support disabled"},
		{[]string{"sentinel://" + first + "/m"}, "unknown command"},
		{[]string{"redis://" + first, "redis://" + first}, "the same server"},
		{[]string{"redis://" + first, "cluster://" + cluster}, "have to be redis://"},
		{[]string{"redis://" + loopback(1)}, "refused"},
	} {
		switch _, err := discover(t, tt.addresses...); {
		case err == nil || !strings.Contains(err.Error(), tt.want):
			t.Errorf("%v: %v, want %q", tt.addresses, err, tt.want)
		case strings.Contains(err.Error(), "wr0ng"):
			t.Errorf("the password is shown: %v", err)
		}
	}
	for _, far := range []string{"redis://192.0.2.1:6379", "sentinel://redis.example:26379/m", "cluster://10.0.0.1:7001"} {
		if _, err := discover(t, far); !errors.Is(err, ErrRemote) {
			t.Errorf("%s: %v", far, err)
		}
	}
}
