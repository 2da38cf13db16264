package chart

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

// With any number of columns, no line is longer than the width, and no mark is
// missing.
func TestNoLineIsTooLong(t *testing.T) {
	for _, columns := range []int{1, 3, 12, 30, 100} {
		g := Grid{Corner: "scenario", Rows: []string{"contention", "a-scenario-with-a-name-that-is-longer-than-a-line-should-be"}, Width: 80,
			Mark: func(r, c int) string { return []string{"ok", "[X]"}[(r+c)%2] }}
		for i := range columns {
			g.Cols = append(g.Cols, fmt.Sprintf("a-lock-with-a-name-%d", i))
		}
		var b bytes.Buffer
		g.Write(&b)
		for _, line := range strings.Split(b.String(), "\n") {
			if n := utf8.RuneCountInString(line); n > 80 {
				t.Errorf("%d columns: %d characters: %s", columns, n, line)
			}
		}
		if n := strings.Count(b.String(), "ok"); n != columns {
			t.Errorf("%d columns: %d marks are ok", columns, n)
		}
		if n := strings.Count(b.String(), "[X]"); n != columns {
			t.Errorf("%d columns: %d marks are [X]", columns, n)
		}
	}
}
