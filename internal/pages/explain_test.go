package pages

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// Each name of the lists has one screen of at most 80 columns. The pages and
// sources that it names exist.
func TestEveryNameIsExplained(t *testing.T) {
	for _, name := range Names() {
		var b strings.Builder
		if err := Explain(&b, name); err != nil {
			t.Error(err)
			continue
		}
		lines := strings.Split(b.String(), "\n")
		if len(lines) > 40 {
			t.Errorf("%s takes %d lines", name, len(lines))
		}
		for _, line := range lines {
			if utf8.RuneCountInString(line) > 80 {
				t.Errorf("%s: a line is too long: %s", name, line)
			}
			heading, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
			if heading != "source" && heading != "page" {
				continue
			}
			rest, _, _ = strings.Cut(strings.TrimSpace(rest), ";")
			for _, file := range strings.Split(rest, ", ") {
				if _, err := os.Stat(filepath.Join("..", "..", file)); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
	}
	if err := Explain(&strings.Builder{}, "nosuch"); !errors.Is(err, errUnknown) {
		t.Errorf("nosuch: %v", err)
	}
}
