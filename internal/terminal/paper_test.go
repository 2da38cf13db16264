package terminal

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/holdfast-go/holdfast/internal/must"
)

const printed = `scenario                     a  b  c
contention                   ok ok ?
late-release                 X ~ [ok]
  exclusion  violated (contract broken)  not as expected
2 of 3 killed; 1 unknown, 0 not as expected
`

// Output to a pipe or a file is for programs.
func TestAPipeGetsNoColour(t *testing.T) {
	var b bytes.Buffer
	must.Succeed(t, Print(&b, func(string) string { return "" }, func(w io.Writer) error { _, err := io.WriteString(w, printed); return err }))
	if b.String() != printed {
		t.Errorf("printed %q", b.String())
	}
}

// A terminal shows good, bad and unknown in colours.
func TestATerminalGetsColour(t *testing.T) {
	var b bytes.Buffer
	p := &paper{w: &b, width: 80, colour: true}
	for _, part := range []string{printed[:50], printed[50:], "the end"} {
		fmt.Fprint(p, part)
	}
	p.end()
	got := strings.NewReplacer("\x1b[31m", "<red>", "\x1b[32m", "<green>", "\x1b[33m", "<yellow>", "\x1b[0m", "<>").Replace(b.String())
	want := `scenario                     a  b  c
contention                   <green>ok<> <green>ok<> <yellow>?<>
late-release                 <red>X<> <red>~<> <red>[ok]<>
  exclusion  <red>violated (contract broken)<>  <red>not as expected<>
2 of 3 <green>killed<>; 1 <yellow>unknown<>, 0 not as expected
the end`
	if got != want {
		t.Errorf("printed\n%s\nwant\n%s", got, want)
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
}
