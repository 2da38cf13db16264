package shrink

import (
	"fmt"
	"strings"

	"github.com/holdfast-go/holdfast/scenarios"
)

// GoTest is a regression test in Go, to paste: the functions, and above them in
// a comment what they import. The scenario is to be in testdata, under its
// name. The test is about a lock that holdfast brings along, or with an empty
// lock about one of the reader's own, called mine.
func GoTest(s *scenarios.Scenario, lock string, seed uint64) string {
	name, path := testName(s.Name), "testdata/"+s.Name+".yaml"
	if lock == "" {
		return fmt.Sprintf(ownTest, name, seed, path)
	}
	return fmt.Sprintf(builtInTest, name, oneLine(s.Title), path, lock, seed)
}

const ownTest = `// import "testing"; "github.com/holdfast-go/holdfast/locktest"

// mine is the locktest.Lock under test.
func Test%s(t *testing.T) {
	t.Setenv("HOLDFAST_SEED", "%d")
	locktest.Run(t, mine, locktest.Files(%q))
}
`

const builtInTest = `// import "testing"; "github.com/holdfast-go/holdfast/checker"; "github.com/holdfast-go/holdfast/scenarios"

// Test%[1]s shows this: %[2]s.
func Test%[1]s(t *testing.T) {
	s, err := scenarios.Load(%[3]q)
	if err != nil {
		t.Fatal(err)
	}
	l, err := scenarios.FindSubject(%[4]q)
	if err != nil {
		t.Fatal(err)
	}
	p, err := scenarios.Play(s, l, %[5]d, "test")
	if err != nil {
		t.Fatal(err)
	}
	judged, err := checker.Judge(p.History, checker.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for property, want := range s.Expected(l) {
		if v, ok := judged.Verdicts[property]; ok && !want.Met(v) {
			t.Errorf("%%s is %%s %%s, expected %%s %%s: %%s", property, v.Outcome, v.Class, want.Outcome, want.Class, v.Reason)
		}
	}
}
`

// testName is the name of a scenario as Go writes names.
func testName(name string) string {
	var b strings.Builder
	for _, part := range strings.Split(name, "-") {
		if part != "" {
			b.WriteString(strings.ToUpper(part[:1]) + part[1:])
		}
	}
	return b.String()
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
