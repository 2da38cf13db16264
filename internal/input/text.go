// Package input reads files from users and lines from adapters. It limits the
// cost of reading, and the part of a text that an error repeats.
package input

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"
)

// quoted is the most characters of a text that an error repeats.
const quoted = 200

// Quote quotes a text as %q does, cut to 200 characters.
func Quote(text string) string {
	cut, more := cut(text)
	return strconv.Quote(cut) + more
}

// Plain cuts a text to 200 characters and escapes unprintable ones.
func Plain(text string) string {
	cut, more := cut(text)
	var b strings.Builder
	for i, r := range cut {
		if r == utf8.RuneError || !strconv.IsPrint(r) {
			q := strconv.Quote(cut[i : i+max(1, width(cut[i:]))])
			b.WriteString(q[1 : len(q)-1])
			continue
		}
		b.WriteRune(r)
	}
	return b.String() + more
}

func width(s string) int {
	_, n := utf8.DecodeRuneInString(s)
	return n
}

func cut(text string) (head, more string) {
	n := 0
	for i := range text {
		if n++; n > quoted {
			return text[:i], "..."
		}
	}
	return text, ""
}

// Sprintf is [fmt.Sprintf] for arguments from outside. %q prints texts and errors
// as [Quote] does, other verbs as [Plain] does.
func Sprintf(format string, args ...any) string {
	safe := make([]any, len(args))
	for i, a := range args {
		switch v := reflect.ValueOf(a); {
		case v.Kind() == reflect.String:
			safe[i] = text(v.String())
		default:
			safe[i] = a
			if err, ok := a.(error); ok {
				safe[i] = text(err.Error())
			}
		}
	}
	return fmt.Sprintf(format, safe...)
}

type text string

// Format implements fmt.Formatter.
func (t text) Format(s fmt.State, verb rune) {
	print := Plain
	if verb == 'q' {
		print = Quote
	}
	fmt.Fprint(s, print(string(t)))
}
