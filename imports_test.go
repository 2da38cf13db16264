package holdfast_test

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/internal/must"
)

const module = "github.com/holdfast-go/holdfast"

// layers are the packages from the lowest to the highest: a package imports only
// those that stand before it. ARCHITECTURE.md says what each is.
var layers = []string{
	"internal/input", "internal/terminal", "internal/random", "internal/english", "internal/stacks", "internal/processor", "internal/version", "internal/chart", "internal/boxes", "internal/whole", "internal/garbage", "internal/outdir", "internal/schemata", "internal/browser", "internal/nightly", "internal/words", "internal/chance", "internal/freeport", "internal/must",
	"history", "checker/linear", "checker",
	"lock",
	"redis/resp", "redis/blocking", "redis/keyspace",
	"faults/toxics", "faults",
	"sim/script", "sim",
	"subject/textbook", "subject/gallery", "subject", "subject/adapter", "subject/adapter/bundled", "internal/testworker",
	"live/proxy", "live/processes", "live/servers/miniredis", "live/servers", "live/observe", "live", "live/internal/livetest", "live/conform",
	"scenarios",
	"play", "play/simplay", "play/liveplay",
	"results", "reports/spacetime", "reports/cards", "reports/grid", "reports", "reports/brief", "reports/searches", "reports/explain", "reports/verdicts",
	"suite", "suite/workers", "suite/report", "suite/realtime", "suite/compare", "suite/accept", "reports/inside",
	"explore/draw", "explore/cause", "shrink", "explore", "explore/exhaustive", "explore/exhaustive/small", "explore/exhaustive/placed", "explore/emit", "sweep", "selftest", "selftest/mutation", "selftest/mutation/player", "playground", "playground/serve", "playground/static", "playground/wasm",
	"locktest", "", "cmd/holdfast",
	"examples", "examples/own-lock",
}

// goList runs go list.
func goList(t *testing.T, args ...string) []string {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list"}, args...)...)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list %s: %v", strings.Join(args, " "), err)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

// Imports point one way, or the tree explains nothing.
func TestImportsPointDown(t *testing.T) {
	rank := func(pkg string) int {
		return slices.Index(layers, strings.TrimPrefix(strings.TrimPrefix(pkg, module), "/"))
	}
	for _, line := range goList(t, "-f", `{{.ImportPath}} {{join .Imports " "}}`, "./...", "./lock/...") {
		pkgs := strings.Fields(line)
		if rank(pkgs[0]) < 0 {
			t.Errorf("%s has no place among the layers: put it into imports_test.go and ARCHITECTURE.md", pkgs[0])
			continue
		}
		for _, p := range pkgs[1:] {
			if p != module && !strings.HasPrefix(p, module+"/") {
				continue
			}
			if rank(p) >= rank(pkgs[0]) {
				t.Errorf("%s imports %s, which is not below it", pkgs[0], p)
			}
		}
	}
}

// Whoever tests a lock of their own links neither servers nor plots.
func TestLocktestIsSmall(t *testing.T) {
	const most = 120
	var others []string
	for _, p := range goList(t, "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", "./locktest") {
		if p != "" {
			others = append(others, p)
		}
	}
	if len(others) > most {
		t.Errorf("locktest links %d packages beyond the standard library, at most %d are allowed", len(others), most)
	}
	for _, heavy := range []string{module + "/live", "github.com/prometheus/", "github.com/gorilla/", "gonum.org/", "github.com/Shopify/toxiproxy/v2 "} {
		for _, p := range others {
			if strings.HasPrefix(p+" ", heavy) || strings.HasPrefix(p, strings.TrimSpace(heavy)+"/") && !strings.Contains(heavy, "toxiproxy") {
				t.Errorf("locktest links %s", p)
			}
		}
	}
}

// A program that imports the reference lock alone links the Redis client, and no
// other part of Holdfast.
func TestLockLinksTheRedisClientAlone(t *testing.T) {
	allowed := []string{
		module + "/lock", "github.com/redis/go-redis/v9",
		"github.com/cespare/xxhash/v2", "go.uber.org/atomic", "golang.org/x/sys/cpu", // what go-redis needs
	}
	for _, p := range goList(t, "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", "./lock") {
		if p != "" && !slices.ContainsFunc(allowed, func(a string) bool { return p == a || strings.HasPrefix(p, a+"/") }) {
			t.Errorf("lock links %s", p)
		}
	}
}

// What is built in a checkout is what is built by go install. That takes a go.mod
// without replacements, and a go.work that changes nothing but where lock is.
func TestWorkspaceIsWhatIsInstalled(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile(name)
		must.Succeed(t, err)
		return string(text)
	}
	mod, work := read("go.mod"), read("go.work")
	line := func(text, pattern string) string { return regexp.MustCompile(`(?m)^[ \t]*` + pattern).FindString(text) }
	if l := line(mod, "replace .*"); l != "" {
		t.Errorf("go install refuses a go.mod with %q", l)
	}
	lock := strings.Fields(line(mod, module+"/lock v.*"))
	if len(lock) != 2 {
		t.Fatal("go.mod does not ask for a version of module lock")
	}
	if want := "replace " + strings.Join(lock, " ") + " => ./lock"; line(work, "replace .*") != want {
		t.Errorf("go.work lacks %q: without it nothing builds before that version is published", want)
	}
	for _, pattern := range []string{"go .*", "godebug .*"} {
		if a, b := line(mod, pattern), line(work, pattern); a != b {
			t.Errorf("go.mod has %q, and go.work %q", a, b)
		}
	}
}
