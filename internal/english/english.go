// Package english formats numbers, lists and spans of time for reports, verdicts and
// errors, and makes text from outside safe to print.
package english

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Count formats a number of things: "1 run", "2 runs".
func Count(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}

// Words are the words for each item of a list; nil for none.
func Words[T any](items []T, of func(T) string) (words []string) {
	for _, item := range items {
		words = append(words, of(item))
	}
	return words
}

// And joins words: "a", "a and b", "a, b and c".
func And(words []string) string { return list(words, " and ") }

// Or joins words: "a", "a or b", "a, b or c".
func Or(words []string) string { return list(words, " or ") }

func list(words []string, last string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + last + words[len(words)-1]
}

// Upper capitalizes the first letter of s, for the beginning of a sentence.
func Upper(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// Span formats a duration in one unit, with three or four digits: "812 ms", "1.2
// s", "2.5 hours".
func Span(d time.Duration) string {
	switch {
	case d < 0:
		return "-" + Span(-d)
	case d == 0:
		return "0 ms"
	case d < time.Millisecond:
		return in(time.Microsecond, "µs", d)
	case d < time.Second:
		return in(time.Millisecond, "ms", d)
	case d < 2*time.Minute:
		return in(time.Second, "s", d)
	case d < 2*time.Hour:
		return in(time.Minute, "minutes", d)
	case d < 48*time.Hour:
		return in(time.Hour, "hours", d)
	}
	return in(24*time.Hour, "days", d)
}

func in(unit time.Duration, name string, d time.Duration) string {
	v, digits := float64(d)/float64(unit), 0
	switch {
	case v < 9.995:
		digits = 2
	case v < 99.95:
		digits = 1
	}
	text := strconv.FormatFloat(v, 'f', digits, 64)
	if digits > 0 {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text + " " + name
}
