package holdfast_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/holdfast-go/holdfast"

// layers are the packages from the lowest to the highest: a package imports only
// those that stand before it. ARCHITECTURE.md says what each is.
var layers = []string{
	"internal/input", "internal/random", "internal/english", "internal/stacks", "internal/version", "internal/chart", "internal/whole", "internal/outdir", "internal/schemata",
	"history", "checker/linear", "checker",
	"lock",
	"redis/resp", "redis/blocking", "redis/keyspace",
	"faults/toxics", "faults",
	"sim/script", "sim",
	"subject/textbook", "subject/gallery", "subject", "subject/adapter", "internal/testworker",
	"live/proxy", "live/processes", "live/servers/miniredis", "live/servers", "live/observe", "live", "live/internal/livetest", "live/conform",
	"scenarios",
	"play", "play/simplay", "play/liveplay",
	"results", "reports/spacetime", "reports/cards", "reports/grid", "reports", "reports/verdicts",
	"suite", "suite/workers", "suite/report", "suite/realtime", "suite/compare", "suite/accept", "reports/inside",
	"explore/draw", "explore/cause", "shrink", "explore", "explore/emit", "sweep", "selftest", "selftest/mutation", "selftest/mutation/player",
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
	for _, line := range goList(t, "-f", `{{.ImportPath}} {{join .Imports " "}}`, "./...") {
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

// A program that imports the reference lock alone links no other part.
func TestLockKnowsNobody(t *testing.T) {
	for _, p := range goList(t, "-deps", "./lock") {
		if strings.HasPrefix(p, module) && p != module+"/lock" {
			t.Errorf("lock links %s", p)
		}
	}
}
