package holdfast_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/internal/must"
)

var goBlock = regexp.MustCompile("(?ms)^```go\n(.*?)^```")

// squeezed is code without its indentation.
func squeezed(code string) string {
	var b strings.Builder
	for line := range strings.Lines(code) {
		b.WriteString(strings.TrimSpace(line) + "\n")
	}
	return b.String()
}

// The code of pages about the lock is that of examples, which compile and run.
func TestCodeOfPagesIsThatOfExamples(t *testing.T) {
	for page, example := range map[string]string{
		"docs/migrating.md": "lock/example_migrating_test.go",
		"docs/fair-lock.md": "lock/example_fair_test.go",
	} {
		text, err := os.ReadFile(page)
		must.Succeed(t, err)
		code, err := os.ReadFile(example)
		must.Succeed(t, err)
		blocks := goBlock.FindAllStringSubmatch(string(text), -1)
		if len(blocks) == 0 {
			t.Errorf("%s has no code", page)
		}
		for _, block := range blocks {
			if !strings.Contains(squeezed(string(code)), squeezed(block[1])) {
				t.Errorf("%s: this is not in %s:\n%s", page, example, block[1])
			}
		}
	}
}
