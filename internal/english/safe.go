package english

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean makes text from outside safe to print anywhere. It replaces control
// characters (a terminal would obey them), characters that reorder or hide text,
// and invalid UTF-8. The replacement is U+FFFD, and a space for a line break or
// tab.
func Clean(s string) string {
	ok := true
	for i := 0; i < len(s); i++ {
		if s[i] < 0x20 || s[i] >= 0x7f {
			ok = false
			break
		}
	}
	if ok {
		return s
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r) && r != '\u200d', r == '\u2028', r == '\u2029',
			r >= 0xfdd0 && r <= 0xfdef, r&0xfffe == 0xfffe:
			return utf8.RuneError
		}
		return r
	}, s)
}

// Name is [Clean] for a text that must be visible even if it is empty.
func Name(s string) string {
	if s = Clean(s); s == "" {
		return "(no name)"
	}
	return s
}

// Short cuts s to n characters. An ellipsis marks the cut.
func Short(s string, n int) string {
	if len(s) <= n || utf8.RuneCountInString(s) <= n {
		return s
	}
	r := []rune(s)
	return string(r[:n-1]) + "…"
}
