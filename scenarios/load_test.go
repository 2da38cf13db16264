package scenarios_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/scenarios"
)

// good is a scenario that uses every part of the format. The tables below
// spoil one line of it.
const good = `scenario: mine
title: A scenario of mine
story: Something happens.
topology:
  clients: 3
  replicas: 1
  latency: {min: 1ms, max: 2ms}
workload:
  lock: stock
  holds: 2
  lease: 10s
  wait: 15s
  think: 500ms
  nested: [0s, 2s]
override:
  client-2: {start: 2s}
faults:
  - fault: pause
    target: client-1
    on: {moment: writing, client: client-1, nth: 2}
    for: 12s
  - fault: partition
    target: [client-1, client-2]
    peer: node-1
    at: 3s
only: [reentrant, fenced, multi]
except:
  multi: not today
expect:
  - locks: [reentrant]
    verdicts: {exclusion: lease outlived, resource: violated}
    because: It was paused.
otherwise: Nothing else goes wrong.
`

// spoiled replaces a text that occurs once in good.
func spoiled(t *testing.T, old, new string) string {
	t.Helper()
	if strings.Count(good, old) != 1 {
		t.Fatalf("%q occurs %d times in the good scenario", old, strings.Count(good, old))
	}
	return strings.Replace(good, old, new, 1)
}

// bad inputs: what is spoiled, where the error is, what it says and hints.
var bad = []struct {
	name     string
	old, new string
	where    string
	message  string
	hint     string
	// schema says that the JSON Schema refuses it as well; some things only
	// the loader can know.
	schema bool
}{
	// Keys.
	{"unknown key", "title:", "titel:", "2:1", `unknown key "titel"`, "did you mean title?", true},
	{"unknown key, nothing near", "title:", "xyzzy:", "2:1", `unknown key "xyzzy"`, "allowed: scenario, title,", true},
	{"unknown key inside", "  wait: 15s", "  timeout: 15s", "12:3", `unknown key "timeout" in workload`, "allowed: lock, locks, together, holds", true},
	{"unknown key in flow style", "{start: 2s}", "{begin: 1s, start: 2s}", "16:14", `unknown key "begin" in override.client-2`, "allowed:", true},
	{"unknown key of an anchor", "nth: 2", "nht: 2", "20:45", `unknown key "nht" in faults[0].on`, "did you mean nth?", true},
	{"key given twice", "  wait: 15s", "  wait: 15s\n  wait: 16s", "13:3", `not valid YAML: mapping key "wait" already defined`, "", false},
	{"missing key", "title: A scenario of mine\n", "", "1:1", "title is missing", "one line", true},
	{"missing keys", "title: A scenario of mine\nstory: Something happens.\n", "", "1:1", "title and story are missing", "story: say what is done", true},
	{"missing otherwise", "otherwise: Nothing else goes wrong.\n", "", "1:1", "otherwise is missing", "argue why", true},
	{"missing clients", "  clients: 3\n", "", "5:3", "topology.clients is missing", "clients: 3", true},
	{"missing lease", "  lease: 10s\n", "", "9:3", "workload.lease is missing", "lease: 10s", true},
	{"missing because", "    because: It was paused.\n", "", "30:5", "expect[0].because is missing", "argue", true},
	{"blank because", "It was paused.", `" "`, "32:14", "expect[0].because is empty", "argue", true},

	// Types.
	{"text for a number", "holds: 2", "holds: two", "10:10", "workload.holds must be a whole number, not a text", "", true},
	{"fraction for a number", "holds: 2", "holds: 2.5", "10:10", "workload.holds must be a whole number, not a number", "", true},
	{"huge number", "holds: 2", "holds: 99999999999999999999", "10:10", "workload.holds", "", false},
	{"list for a text", "A scenario of mine", "[a, b]", "2:8", "title must be a text, not a list", "quotes", true},
	{"number for a text", "lock: stock", "lock: 7", "9:9", "workload.lock must be a text, not a number", "put it in quotes", true},
	{"text for a list", "[reentrant, fenced, multi]", "reentrant", "26:7", "only must be a list, not a text", "write it as [a, b]", true},
	{"list for keys", "{start: 2s}", "[2s]", "16:13", "override.client-2 must be a set of keys, not a list", "key: value", true},
	{"no value", "wait: 15s", "wait:", "12:8", "workload.wait has no value", "leave the key out", true},

	// Durations.
	{"no unit", "lease: 10s", "lease: 10", "11:10", "workload.lease is a duration and needs a unit", "such as 500us, 20ms, 1.5s or 2m", true},
	{"wrong unit", "lease: 10s", "lease: 10sec", "11:10", `"10sec" is not a duration`, "such as 500us", true},
	{"days", "lease: 10s", "lease: 1d", "11:10", `"1d" is not a duration`, "such as", true},
	{"too long", "wait: 15s", "wait: 999h", "12:9", "workload.wait is longer than a day", "", false},
	{"negative", "wait: 15s", "wait: -15s", "12:9", "workload.wait is below 0", "", true},
	{"short lease", "lease: 10s", "lease: 10ms", "11:10", "workload.lease is 10ms: must be at least 100ms", "round trip", false},
	{"short nested lease", "[0s, 2s]", "[0s, 2ms]", "14:16", "workload.nested[1] is 2ms", "", false},
	{"latency backwards", "{min: 1ms, max: 2ms}", "{min: 3ms, max: 2ms}", "7:28", "topology.latency.max is 2ms, below min, which is 3ms", "", false},

	// Bounds.
	{"no clients", "clients: 3", "clients: 0", "5:12", "topology.clients is 0: must be 1 to 200", "", true},
	{"many clients", "clients: 3", "clients: 201", "5:12", "topology.clients is 201: must be 1 to 200", "", true},
	{"negative clients", "clients: 3", "clients: -1", "5:12", "topology.clients is -1: must be 1 to 200", "", true},
	{"many replicas", "replicas: 1", "replicas: 4", "6:13", "topology.replicas is 4: must be 0 to 3", "", true},
	{"small cluster", "replicas: 1", "cluster: true", "6:12", "a cluster has at least 3 groups, topology.groups is 0", "groups: 3", true},
	{"no holds", "holds: 2", "holds: 0", "10:10", "workload.holds is 0: must be at least 1", "", true},
	{"impossible grants", "wait: 15s", "min_grants: 99", "12:15", "workload.min_grants is 99: these clients can have 0 to 18 grants", "", false},

	// Names.
	{"name with capitals", "scenario: mine", "scenario: Mine!", "1:11", `"Mine!" cannot be the name of a scenario`, "lower case", true},
	{"name like a path", "scenario: mine", "scenario: ../mine", "1:11", `"../mine" cannot be the name of a scenario`, "", true},
	{"empty lock name", "lock: stock", `lock: ""`, "9:9", "a lock needs a name: this one is empty", "stock", true},
	{"unknown client", "client-2: {start", "client-4: {start", "16:3", `unknown client "client-4"`, "did you mean client-1, client-2 or client-3?", false},
	{"unknown lock", "multi: not today", "mutli: not today", "28:3", `unknown lock "mutli"`, "did you mean multi?", true},
	{"unknown lock in only", "fenced, multi]", "fensed, multi]", "26:19", `unknown lock "fensed"`, "did you mean fenced?", true},
	{"lock twice", "[reentrant, fenced, multi]", "[reentrant, fenced, multi, fenced]", "26:34", "fenced is listed twice", "", true},
	{"unknown need", "only: [reentrant, fenced, multi]", "needs: [reentrent]", "26:9", `unknown claim "reentrent"`, "did you mean reentrant?", true},
	{"need twice", "only: [reentrant, fenced, multi]", "needs: [lease, lease]", "26:16", "lease is listed twice", "", true},
	{"needs that nobody meets", "only: [reentrant, fenced, multi]", "needs: [fairness]", "27:1", "no built-in lock is left to play the scenario with", "", false},
	{"except without only", "[reentrant, fenced, multi]", "[reentrant, fenced]", "28:3", "only leaves multi out already", "", false},
	{"reason missing", "multi: not today", `multi: ""`, "28:10", "except.multi is empty", "say why", true},
	{"lock that cannot be played", "[reentrant, fenced, multi]", "[set-px, reentrant, fenced, multi]", "26:8", "the scenario cannot be played with set-px: it does not claim reentrant", "", false},
	{"expectation of a lock left out", "locks: [reentrant]", "locks: [multi]", "30:13", "the scenario is not played with multi: not today", "", false},
	{"unknown property", "resource: violated", "ressource: violated", "31:43", `unknown property "ressource"`, "did you mean resource?", true},
	{"unknown verdict", "resource: violated", "resource: voilated", "31:53", `"voilated" is not a verdict on resource`, "did you mean violated?", true},
	{"class for another property", "resource: violated", "resource: lease outlived", "31:53", `"lease outlived" is not a verdict on resource`, "allowed: ok, violated, unknown", true},

	// Faults.
	{"unknown fault", "fault: pause", "fault: pasue", "18:12", `unknown fault "pasue"`, "did you mean pause?", true},
	{"no fault named", "  - fault: pause\n    target: client-1\n", "  - target: client-1\n", "18:5", "faults[0].fault is missing", "one of: cancel,", true},
	{"no target", "    target: client-1\n", "", "18:5", "faults[0].target is missing", "target: client-1", true},
	{"unknown target", "    target: client-1\n", "    target: clinet-1\n", "19:13", `unknown client "clinet-1"`, "did you mean client-1", true},
	{"unknown target in a list", "[client-1, client-2]", "[client-1, client-9]", "23:24", `unknown client or node "client-9"`, "did you mean client-1", false},
	{"node for a client", "    target: client-1\n", "    target: node-1\n", "19:13", `"node-1" is not a client`, "", false},
	{"unknown node", "peer: node-1", "peer: node-4", "24:11", `unknown client or node "node-4"`, "did you mean node-1", false},
	{"at and on", "    on: {moment: writing", "    at: 1s\n    on: {moment: writing", "21:5", "the fault has both at and on", "keep one", true},
	{"neither at nor on", "    at: 3s\n", "", "22:5", "the fault does not say when it strikes", "add at: 3s, or on:", true},
	{"negative time", "at: 3s", "at: -3s", "25:9", "faults[1].at is below 0", "", true},
	{"unknown moment", "moment: writing", "moment: writting", "20:18", `unknown moment "writting"`, "did you mean writing?", true},
	{"no moment", "moment: writing, ", "", "20:9", "faults[0].on.moment is missing", "one of: invoked,", true},
	{"unknown client of an anchor", "client: client-1, nth", "client: client-8, nth", "20:35", `unknown client "client-8"`, "did you mean client-1", false},
	{"op of a moment that says it", "client: client-1, nth", "op: acquire, nth", "20:27", "writing says already in which operation", "leave op out", true},
	{"command of a client's moment", "client: client-1, nth", "command: DEL, nth", "20:27", "writing has no command", "only received, executed and answered", true},
	{"changed before execution", "moment: writing, client: client-1, nth", "moment: received, changed: true, nth", "20:28", "a request that was only received has changed nothing yet", "moment: executed", false},
	{"lower case command", "moment: writing, client: client-1, nth", "moment: executed, command: del, nth", "20:37", `a command is one word in upper case, not "del"`, "EVALSHA", true},
	{"nth 0", "nth: 2", "nth: 0", "20:50", "faults[0].on.nth is 0: must be at least 1", "", true},
	{"parameter of another fault", "    for: 12s\n", "    rate: 1.5\n", "21:5", "pause does not take rate", "it takes no parameters", false},
	{"unknown word", "    at: 3s\n", "    at: 3s\n    direction: upstream\n", "26:16", `"upstream" is not a direction`, "allowed: both, to-node, to-client", true},
	{"length of a fault without", "fault: pause", "fault: crash", "21:5", "crash happens at once and does not last", "leave for out", false},
	{"what the fault itself refuses", "fault: partition", "fault: delay", "22:12", `delay cannot strike here: needs "by"`, "holdfast list faults", false},
	{"failover without a replica", "  replicas: 1\n", "", "", "", "", false}, // see TestFailoverNeedsAReplica

	// The words of a workload.
	{"an extension that may shorten", "  wait: 15s", "  extend: 2s", "12:11", "workload.extend is 2s, shorter than a lease of client-1", "", false},
	{"a shutdown that releases for others", "  wait: 15s", "  owners: 2\n  shutdown: true", "12:11", "a shutdown releases the holds of all owners", "leave owners out", false},
	{"unknown user", "  wait: 15s", "  user: carefull", "12:9", `"carefull" is not a kind of user`, "did you mean careful?", true},
	{"careful and carrying on", "  wait: 15s", "  user: careful\n  carry: true", "12:9", "a careful user stops at the notice", "leave carry out", false},
	{"no owner", "  wait: 15s", "  owners: 0", "12:11", "workload.owners is 0: must be 1 to 20", "", true},
	{"a herd that rests", "  wait: 15s", "  rest: 1s\n  herd: true", "13:9", "a herd does not rest", "leave rest out", false},
	{"lock and locks", "  wait: 15s", "  locks: [b]", "12:3", "there are both lock and locks", "leave lock out", false},
	{"no lock", "  lock: stock", "  locks: []", "9:10", "workload.locks names no lock", "", true},
	{"more grants than together can have", "  lock: stock", "  locks: [a, b]\n  together: true\n  min_grants: 1000", "11:15", "workload.min_grants is 1000", "", false},
	{"together with one lock", "  lock: stock", "  lock: stock\n  together: true", "10:13", "workload.together is about two locks or more", "such as locks: [stock, till]", true},
	{"a lock twice", "  lock: stock", "  locks: [a, a]", "9:14", `lock "a" is listed twice`, "", true},
	{"a name too long", "  lock: stock", "  lock: " + strings.Repeat("x", 513), "9:9", "the name of a lock has at most 512 bytes, this one 513", "", true},

	// YAML.
	{"tab", "  wait: 15s", "\twait: 15s", "12:1", "not valid YAML: a tab where a key should begin", "indent with spaces", false},
	{"two documents", "otherwise: Nothing", "---\nscenario: other\n---\notherwise: Nothing", "34:1", "a second document in one file", "a file of its own", false},
	{"unknown alias", "wait: 15s", "wait: *long", "12:9", "unknown alias *long", "&long", false},
}

func TestParseSaysWhatIsWrongAndWhere(t *testing.T) {
	for _, tt := range bad {
		if tt.message == "" {
			continue
		}
		t.Run(tt.name, func(t *testing.T) {
			_, err := scenarios.Parse("mine.yaml", []byte(spoiled(t, tt.old, tt.new)))
			var e *scenarios.SourceError
			if !errors.As(err, &e) {
				t.Fatalf("got %v, want a SourceError", err)
			}
			if e.Where() != "mine.yaml:"+tt.where || !strings.HasPrefix(e.Message, tt.message) || !strings.Contains(e.Hint, tt.hint) {
				t.Errorf("got  %s: %s (%s)\nwant mine.yaml:%s: %s (%s)", e.Where(), e.Message, e.Hint, tt.where, tt.message, tt.hint)
			}
		})
	}
}

func TestErrorIsOneLineAndAHint(t *testing.T) {
	_, err := scenarios.Parse("mine.yaml", []byte(spoiled(t, "title:", "titel:")))
	want := "mine.yaml:2:1: unknown key \"titel\"\nhint: did you mean title?"
	if fmt.Sprint(err) != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestFailoverNeedsAReplica(t *testing.T) {
	src := spoiled(t, "fault: partition\n    target: [client-1, client-2]\n    peer: node-1", "fault: failover\n    target: node-1")
	if _, err := scenarios.Parse("mine.yaml", []byte(src)); err != nil {
		t.Fatalf("with a replica: %v", err)
	}
	_, err := scenarios.Parse("mine.yaml", []byte(strings.Replace(src, "  replicas: 1\n", "", 1)))
	if err == nil || !strings.Contains(err.Error(), "mine.yaml:21:12: failover cannot strike here: needs a replica") {
		t.Errorf("without a replica: %v", err)
	}
}

func TestGoodInputs(t *testing.T) {
	for name, tt := range map[string][2]string{
		"as it is":                  {"scenario: mine", "scenario: mine"},
		"lock name with a colon":    {"lock: stock", `lock: "a:b"`},
		"lock name with braces":     {"lock: stock", `lock: "{a}"`},
		"lock name with quotes":     {"lock: stock", `lock: "it's \"a\" lock"`},
		"lock name with a tag":      {"lock: stock", `lock: <script>alert(1)</script>`},
		"lock name in Greek":        {"lock: stock", `lock: κλειδαριά 🔒`},
		"zero without a unit":       {"wait: 15s", "wait: 0"},
		"compound duration":         {"wait: 15s", "wait: 1m30.5s"},
		"microseconds":              {"wait: 15s", "wait: 15µs"},
		"one target in a list":      {"    target: client-1\n", "    target: [client-1]\n"},
		"any primary":               {"peer: node-1", "peer: primary"},
		"node of another lock":      {"peer: node-1", "peer: node-1-replica-1"},
		"anchors and aliases":       {"    because: It was paused.\n", "    because: &why It was paused.\n  - locks: [fenced]\n    verdicts: {exclusion: violated}\n    because: *why\n"},
		"merged keys":               {"  client-2: {start: 2s}", "  client-2: &late {start: 2s, holds: 1}\n  client-3: {<<: *late, holds: 3}"},
		"CRLF":                      {"wait: 15s\n", "wait: 15s\r\n"},
		"comments":                  {"wait: 15s\n", "wait: 15s # long\n# and a line\n"},
		"byte order mark":           {"scenario: mine", "\ufeffscenario: mine"},
		"fault of a server moment":  {"moment: writing", "moment: executed, op: release, command: DEL, changed: true, node: node-1"},
		"a document start and end":  {"scenario: mine", "---\nscenario: mine"},
		"unknown as an expectation": {"resource: violated", "resource: unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := scenarios.Parse("mine.yaml", []byte(spoiled(t, tt[0], tt[1]))); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestMergedKeysAreTakenOver(t *testing.T) {
	s, err := scenarios.Parse("mine.yaml", []byte(spoiled(t, "  client-2: {start: 2s}", "  client-2: &late {start: 2s, holds: 1}\n  client-3: {<<: *late, holds: 3}")))
	must.Succeed(t, err)
	if o := s.Override["client-3"]; o.Start == nil || o.Start.String() != "2s" || *o.Holds != 3 {
		t.Errorf("got %v, want the start of client-2 and holds of its own", o)
	}
}

func TestNotAScenario(t *testing.T) {
	for name, tt := range map[string]struct{ src, want string }{
		"empty":        {"", "f:1:1: the file has no scenario"},
		"only comment": {"# nothing\n", "f:1:1: the file has no scenario"},
		"null":         {"null\n", "f:1:1: the file has no scenario"},
		"a list":       {"- a\n", "f:1:1: a scenario must be a set of keys, not a list"},
		"a text":       {"hello\n", "f:1:1: a scenario must be a set of keys, not a text"},
		"binary":       {"scenario: a\x00b", "f:1:12: not a text file"},
		"Latin-1":      {"scenario: a\ntitle: caf\xe9\n", "f:2:11: not a text file"},
		"too long":     {strings.Repeat("#", 1<<20+1), "f:1:1: the file has 1048577 bytes"},
		"unclosed":     {"topology: {clients: 3\n", "f:1:11: not valid YAML"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := scenarios.Parse("f", []byte(tt.src)); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}

func TestRoundTrip(t *testing.T) {
	all := map[string]string{"mine": good}
	for _, name := range scenarios.Names() {
		src, err := scenarios.Source(name)
		must.Succeed(t, err)
		all[name] = string(src)
	}
	for name, src := range all {
		first, err := scenarios.Parse(name, []byte(src))
		must.Succeed(t, err)
		out, err := yaml.MarshalWithOptions(first, yaml.OmitZero())
		must.Succeed(t, err)
		second, err := scenarios.Parse(name, out)
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if diff := cmp.Diff(first, second, cmpopts.IgnoreUnexported(scenarios.Scenario{})); diff != "" {
			t.Errorf("%s changed on the way through YAML:\n%s", name, diff)
		}
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "mine.yaml")
	must.Succeed(t, os.WriteFile(path, []byte(good), 0o644))
	if s, err := scenarios.Load(path); err != nil || s.Name != "mine" {
		t.Errorf("got %v, %v", s, err)
	}
	if _, err := scenarios.Load(filepath.Join(dir, "other.yaml")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
	if _, err := scenarios.Load(dir); err == nil || !strings.Contains(err.Error(), "is a folder") {
		t.Errorf("folder: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(good))
	for _, tt := range bad {
		f.Add([]byte(strings.Replace(good, tt.old, tt.new, 1)))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		s, err := scenarios.Parse("f", src)
		var e *scenarios.SourceError
		switch {
		case err == nil && s == nil:
			t.Error("neither scenario nor error")
		case err != nil && (!errors.As(err, &e) || e.Line < 1 || e.Column < 1 || e.Message == ""):
			t.Errorf("error without a place: %#v", err)
		}
	})
}

// The guide's first example is a whole scenario, and has to stay one.
func TestGuide(t *testing.T) {
	guide, err := os.ReadFile("../docs/writing-a-scenario.md")
	must.Succeed(t, err)
	_, example, _ := strings.Cut(string(guide), "```yaml\n")
	example, _, _ = strings.Cut(example, "```")
	if s, err := scenarios.Parse("guide.yaml", []byte(example)); err != nil || s.Name != "long-pause" {
		t.Errorf("got %v, %v", s, err)
	}
}
