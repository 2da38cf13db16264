// Package input reads what somebody else wrote: files from users, lines from
// adapters. It bounds what reading may cost, and what an error repeats of it.
package input

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Quoted is how many characters an error repeats of a text at most.
const Quoted = 200

// Quote puts a text in quotes, as %q does, cut to [Quoted] characters.
func Quote(text string) string {
	cut, more := cut(text)
	return strconv.Quote(cut) + more
}

// Plain cuts a text to [Quoted] characters and escapes those that do not print.
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
		if n++; n > Quoted {
			return text[:i], "..."
		}
	}
	return text, ""
}

// Sprintf is [fmt.Sprintf] for arguments that somebody else wrote: %q prints
// texts and errors as [Quote] does, other verbs as [Plain] does.
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
