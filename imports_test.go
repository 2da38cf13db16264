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

// rules are the imports that a folder must not have, itself or by way of others. A folder
// stands for all below it, but for those that but names.
var rules = []struct{ folder, but, mustNot, why string }{
	{"checker", "", "lock scenarios faults sim internal/play internal/live", "a judge knows histories, not where they come from"},
	{"faults", "", "scenarios sim internal/play internal/live", "a fault says what it does to any world"},
	{"scenarios", "", "sim internal/play internal/live internal/suite reports", "a scenario is played in any world"},
	{"sim", "", "internal/live scenarios", "the worlds do not know each other"},
	{"internal/live", "", "sim", "the worlds do not know each other"},
	{"reports", "", "sim internal/play internal/live internal/suite", "a report plays nothing and judges nothing"},
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
	within := func(pkg, folder string) bool {
		return folder != "" && strings.HasPrefix(pkg+"/", module+"/"+folder+"/")
	}
	met := map[string]bool{}
	for _, line := range goList(t, "-f", `{{.ImportPath}} {{join .Deps " "}}`, "./...", "./lock/...") {
		pkg, deps, _ := strings.Cut(line, " ")
		for _, r := range rules {
			if !within(pkg, r.folder) || within(pkg, r.but) {
				continue
			}
			met[r.folder] = true
			for _, d := range strings.Fields(deps) {
				for _, other := range strings.Fields(r.mustNot) {
					if within(d, other) && !within(d, r.folder) {
						t.Errorf("%s needs %s: %s", pkg, d, r.why)
					}
				}
			}
		}
	}
	for _, r := range rules {
		if !met[r.folder] {
			t.Errorf("there is no folder %s", r.folder)
		}
	}
}

// Users of the library, and those who test a lock of their own, link neither servers nor
// reports.
func TestTheLibraryIsSmall(t *testing.T) {
	const most = 120
	heavy := []string{module + "/internal/live", module + "/internal/play/liveplay", "github.com/prometheus", "github.com/gorilla", "gonum.org"}
	alone := []string{module + "/reports", "github.com/Shopify/toxiproxy/v2"} // packages below them are light
	for _, user := range []string{".", "./locktest"} {
		others := goList(t, "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", user)
		others = slices.DeleteFunc(others, func(p string) bool { return p == "" })
		if len(others) > most {
			t.Errorf("%s links %d packages beyond the standard library, at most %d are allowed", user, len(others), most)
		}
		for _, p := range others {
			if slices.Contains(alone, p) || slices.ContainsFunc(heavy, func(h string) bool { return strings.HasPrefix(p+"/", h+"/") }) {
				t.Errorf("%s links %s", user, p)
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

// A checkout builds the same as go install. That takes a go.mod without replacements, and
// a go.work that changes nothing but where lock is.
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
