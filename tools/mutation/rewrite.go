package main

import (
	"slices"
	"strings"
)

// rewrite is a text to which every mutant adds its switch. Changes of one place
// nest like the nodes of a syntax tree: the first one is the outermost.
type rewrite struct {
	text  string
	marks []mark
}

// mark inserts a text at a byte, and replaces some bytes after it.
type mark struct {
	at, drop int
	text     string
	kind     int // suffixes of a node that ends here come before prefixes of one that begins
	order    int // of marks of one kind at one byte
}

const (
	suffix = iota
	instead
	prefix
)

// wrap puts text around the bytes from pos to end.
func (r *rewrite) wrap(pos, end int, before, after string) {
	n := len(r.marks)
	r.marks = append(r.marks, mark{at: pos, text: before, kind: prefix, order: n}, mark{at: end, text: after, kind: suffix, order: -n})
}

// replace puts text in place of the bytes from pos to end.
func (r *rewrite) replace(pos, end int, text string) {
	r.marks = append(r.marks, mark{at: pos, drop: end - pos, text: text, kind: instead})
}

// changed reports whether there is a mutant in the text.
func (r *rewrite) changed() bool { return len(r.marks) > 0 }

// String is the text with all marks.
func (r *rewrite) String() string {
	slices.SortStableFunc(r.marks, func(a, b mark) int {
		switch {
		case a.at != b.at:
			return a.at - b.at
		case a.kind != b.kind:
			return a.kind - b.kind
		}
		return a.order - b.order
	})
	var b strings.Builder
	at := 0
	for _, m := range r.marks {
		b.WriteString(r.text[at:m.at])
		b.WriteString(m.text)
		at = m.at + m.drop
	}
	b.WriteString(r.text[at:])
	return b.String()
}
