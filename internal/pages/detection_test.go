package pages

import (
	"bytes"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/internal/must"
)

// A wrong lock that nothing detects must stand out, and make the page ask for attention.
func TestAMissedMistakeStandsOut(t *testing.T) {
	d := Detection{Kind: "mutation", Columns: []string{"drop", "all"}, Rows: []DetectionRow{{"lock/a.go", []Detected{{By: 4}, {By: 4}}}, {"lock/b.go", []Detected{{}, {}}}}}
	draw := func() string {
		t.Helper()
		var b bytes.Buffer
		must.Succeed(t, d.HTML(&b))
		return b.String()
	}
	const hole, worry = `class="hole" title="lock/b.go, all">3 of 4<`, `<p class="answer attention">`
	d.Answer = "7 of 8"
	if page := draw(); strings.Contains(page, `class="hole" title=`) || strings.Contains(page, worry) || !strings.Contains(page, `title="lock/a.go, drop">4<`) {
		t.Error("a page without a missed mistake shows one, or lacks a count")
	}
	d.Rows[1].Cells = []Detected{{3, 1}, {3, 1}}
	if page := draw(); !strings.Contains(page, hole) || !strings.Contains(page, worry) {
		t.Errorf("no %q or %q", hole, worry)
	}
}
