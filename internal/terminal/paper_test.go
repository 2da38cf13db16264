package terminal

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/holdfast-go/holdfast/internal/must"
)

// Output to a pipe or a file is for programs: the text stays as it is, without colours.
func TestAPipeGetsTheTextAsItIs(t *testing.T) {
	var b bytes.Buffer
	printed := strings.Repeat("a long line ", 30) + "\n"
	must.Succeed(t, Print(&b, func(w io.Writer) error { _, err := io.WriteString(w, printed); return err }))
	if b.String() != printed || Colours(&b) {
		t.Errorf("printed %q, colours %v", b.String(), Colours(&b))
	}
}

// No line is wider than the terminal, and no word is missing.
func TestLinesAreFolded(t *testing.T) {
	long := "24  slow-work  exclusion (lease outlived)  15  2 clients, 12 operations  holdfast-runs/20260102-150405/finds/exclusion_lease-outlived_slow-work.shrunk.yaml  é " + strings.Repeat("word ", 30)
	got := fold(long, 80)
	for line := range strings.Lines(got) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 && !strings.Contains(line, "finds/") {
			t.Errorf("a line has %d characters: %q", n, line)
		}
	}
	if a, b := strings.Fields(long), strings.Fields(got); strings.Join(a, " ") != strings.Join(b, " ") {
		t.Errorf("%q became %q", a, b)
	}
	if short := "as it is   "; fold(short, 80) != short {
		t.Errorf("a short line became %q", fold(short, 80))
	}
	if marks := "scenario   " + strings.Repeat("\x1b[32mok\x1b[0m ", 20); fold(marks, 80) != marks {
		t.Error("a line of coloured marks, which fits, was folded")
	}
}
