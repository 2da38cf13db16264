package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/internal/nightly"
)

// adapters are those of adapters/ with one lock each, and the fewest processes that a run
// of it has below the harness. The processes of a harness on Redis servers are in
// [TestLiveRunThatIsKilled].
var adapters = []struct {
	program, lock string
	processes     int
}{
	{"etcd/holdfast-etcd", "etcd", 3 + 3},
	{"zookeeper/holdfast-zookeeper", "zookeeper", 3 + 3 + 3},
	{"curator/holdfast-curator", "curator", 3 + 3 + 3},
	{"sql/holdfast-sql", "postgres-for-update", 2 + 2 + 3},
	{"sql/holdfast-sql", "mariadb-for-update", 2 + 2 + 3},
	{"jvm/holdfast-redisson", "redisson", 1 + 3},
	{"node/holdfast-node-redlock", "node-redlock", 1 + 3},
	{"node/holdfast-node-redlock", "redis-semaphore", 1 + 3},
	{"python/holdfast-redis-py", "redis-py", 1 + 3},
	{"python/holdfast-redis-py", "pottery", 1 + 3},
	{"gozero/holdfast-gozero", "go-zero", 1 + 3},
	{"bin/holdfast-golocks", "redsync", 1 + 3},
}

// lingering is the time by which a process may outlive a harness that did not start it
// itself. A database ends its own processes in order.
const lingering = 10 * time.Second

// Only this machine can reach a run of an adapter, whatever servers it brings
// along. After SIGKILL of the harness no process is left, in whatever language it
// is written, and no file but the run directory. make nightly builds all adapters,
// so there one that does not start fails.
func TestAdapterRunThatIsKilled(t *testing.T) {
	requireRedis(t)
	for _, tt := range adapters {
		t.Run(tt.lock, func(t *testing.T) {
			program, err := filepath.Abs("../../adapters/" + tt.program)
			must.Succeed(t, err)
			missing := t.Skipf
			if nightly.On() {
				missing = t.Fatalf
			}
			if _, err := os.Stat(program); err != nil {
				missing("not tried: make adapters has not built %s", tt.program)
			}
			if d := command(t, "adapter", "describe", "--", program); d.code(t) != exitOK {
				missing("not tried: %s%s", &d.stdout, &d.stderr)
			} else if !strings.Contains(d.stdout.String(), tt.lock) {
				t.Fatalf("it does not have %s: %s", tt.lock, &d.stdout)
			}
			dir := filepath.Join(t.TempDir(), "killed")
			h := command(t, "run", "partitioned-holder", "--world", "live", "--adapter", program, "--lock", tt.lock, "--user", "careless", "--out", dir)
			must.Succeed(t, h.Start())
			defer h.Process.Kill()
			defer func() {
				if t.Failed() {
					t.Logf("the harness printed: %s%s", &h.stdout, &h.stderr)
				}
			}()
			eventually(t, "a run is under way", 2*time.Minute, func() bool { return recording(dir, "partitioned-holder", 3) })
			family := descendants(t, h.Process.Pid)
			if len(family) < tt.processes {
				t.Errorf("there are %d processes, want %d: %+v", len(family), tt.processes, family)
			}
			seen := 0
			for _, p := range append(family, process{pid: h.Process.Pid, name: "harness"}) {
				for _, s := range socketsOf(t, p.pid) {
					if seen++; !s.onlyLoopback() {
						t.Errorf("%s (%d) has %s", p.name, p.pid, s)
					}
				}
			}
			if seen < tt.processes {
				t.Errorf("%d processes have %d sockets: the test sees too little", len(family), seen)
			}
			killed(t, h, family, dir, lingering)
		})
	}
}
