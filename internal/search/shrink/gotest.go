package shrink

import (
	"fmt"
	"strings"

	"github.com/holdfast-go/holdfast/scenarios"
)

// GoTest is a regression test in Go, to paste: the functions, and above them in
// a comment what they import. The scenario is to be in testdata, under its
// name. The hash is that of the history, empty where it is not to be compared.
// The test is about a lock that holdfast brings along, or with an empty
// lock about one of the reader's own, called mine.
func GoTest(s *scenarios.Scenario, lock string, seed uint64, hash string) string {
	name, path := testName(s.Name), "testdata/"+s.Name+".yaml"
	if lock == "" {
		return fmt.Sprintf(ownTest, name, seed, path)
	}
	same := ""
	if hash != "" {
		same = fmt.Sprintf(" || res.Runs[0].HistorySHA256 != %q", hash)
	}
	return fmt.Sprintf(builtInTest, name, strings.Join(strings.Fields(s.Title), " "), path, lock, seed, same)
}

const ownTest = `// import "testing"; "github.com/holdfast-go/holdfast/locktest"

// mine is the locktest.Lock under test.
func Test%s(t *testing.T) {
	t.Setenv("HOLDFAST_SEED", "%d")
	locktest.Run(t, mine, locktest.Files(%q))
}
`

const builtInTest = `// import "testing"; "github.com/holdfast-go/holdfast"

// Test%[1]s shows this: %[2]s.
func Test%[1]s(t *testing.T) {
	res, err := holdfast.Run(t.Context(), holdfast.Options{Scenarios: []string{%[3]q}, Locks: []string{%[4]q}, Seed: %[5]d})
	if err != nil || !res.Runs[0].AsExpected%[6]s {
		t.Errorf("%%v, %%+v", err, res.Runs)
	}
}
`

func testName(name string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(name, "-") {
		if part != "" {
			b.WriteString(strings.ToUpper(part[:1]) + part[1:])
		}
	}
	return b.String()
}
