package main

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

// most is the most words of a sentence.
const most = 25

// prose is a text with its place.
type prose struct {
	line  int // where it begins
	words string
}

// ends is where a sentence ends: a full stop or the like, before a space. A
// closing quotation mark or bracket belongs to the sentence. A semicolon ends a
// sentence as well, because another idea follows.
var ends = regexp.MustCompile(`[.?!;][")*_\]]*\s+`)

// sentenceRules are the sentences that a reader has to turn around: without an actor, or
// with a clause where a noun belongs. A question may begin with a clause.
var sentenceRules = []struct {
	pattern *regexp.Regexp
	say     string
}{
	{regexp.MustCompile(`^(?:What|Who|Whoever|How (?:much|many|long|often|far))\b[^?]*$`), "a clause as the subject"},
	{regexp.MustCompile(`(?i)\b(?:is|are|was|were|be) (?:why|how|what)\b[^?]*$`), "a clause as what something is"},
	{regexp.MustCompile(`(?i)\bwhoever\b`), `name the actor, not "whoever"`},
	{regexp.MustCompile(`(?i)\bnobody\b`), `name the actor, not "nobody"`},
	{regexp.MustCompile(`(?i)\btold\b`), `say who notifies or tells whom, not "told"`},
	{regexp.MustCompile(`(?i)\bknows\b`), `say what it has, sees or learns, not "knows"`},
}

// findings lists the faults of a text in a file, a line for each.
func findings(file, text string) []string {
	var found []string
	for _, s := range sentences(text) {
		if n := count(s); n > most {
			found = append(found, fmt.Sprintf("%d words, at most %d: %s", n, most, s))
		}
		for _, r := range sentenceRules {
			if r.pattern.MatchString(s) {
				found = append(found, r.say+": "+s)
			}
		}
		for _, e := range table {
			if e.wrong(file, s) {
				found = append(found, fmt.Sprintf("%q: %s: %s", e.Word, e.Instead, s))
			}
		}
	}
	return found
}

func sentences(text string) []string {
	text = strings.Join(strings.Fields(text), " ")
	var all []string
	for {
		end := next(text)
		if end < 0 {
			break
		}
		all, text = append(all, strings.TrimSpace(text[:end])), text[end:]
	}
	if text != "" {
		all = append(all, text)
	}
	return all
}

// next is where the next sentence begins, or -1.
func next(text string) int {
	for _, at := range ends.FindAllStringIndex(text, -1) {
		if before := text[:at[0]]; at[1] < len(text) && !strings.HasSuffix(before, "e.g") && !strings.HasSuffix(before, "i.e") {
			return at[1]
		}
	}
	return -1
}

// count counts the words that have a letter or a digit.
func count(sentence string) int {
	n := 0
	for _, w := range strings.Fields(sentence) {
		if strings.ContainsFunc(w, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
			n++
		}
	}
	return n
}
