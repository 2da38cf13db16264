package main

import (
	"regexp"
	"strings"
)

var (
	item = regexp.MustCompile(`^\s*(?:[-*]|\d+\.)\s+`)
	link = regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`)
	code = regexp.MustCompile("`[^`]*`")
)

// markdown is the prose of a page: its paragraphs, the items of its lists and the
// cells of its tables. It leaves out headings, code, and the output of commands
// between "<!-- begin" and "<!-- end". A code span counts as one word.
func markdown(page string) []prose {
	var all []prose
	var open prose
	flush := func() {
		if strings.TrimSpace(open.words) != "" {
			open.words = link.ReplaceAllString(code.ReplaceAllString(open.words, "code"), "$1")
			all = append(all, open)
		}
		open = prose{}
	}
	fenced, written, listed := false, false, false
	for i, line := range strings.Split(page, "\n") {
		switch {
		case strings.HasPrefix(line, "```"):
			flush()
			fenced = !fenced
		case strings.HasPrefix(line, "<!-- begin"):
			flush()
			written = true
		case strings.HasPrefix(line, "<!-- end"):
			written = false
		case fenced || written || strings.HasPrefix(line, "<!--"):
		case strings.TrimSpace(line) == "":
			flush()
		case strings.HasPrefix(line, "#"):
			flush()
			listed = false
		case strings.HasPrefix(line, "|"):
			flush()
			for _, cell := range strings.Split(strings.ReplaceAll(line, `\|`, ""), "|") {
				open = prose{i + 1, cell}
				flush()
			}
		case item.MatchString(line):
			flush()
			listed = true
			open = prose{i + 1, item.ReplaceAllString(line, "")}
		case strings.HasPrefix(line, "    ") && open.words == "" && !listed:
		default:
			if listed = listed && strings.HasPrefix(line, " "); open.words == "" {
				open.line = i + 1
			}
			open.words += " " + strings.TrimPrefix(line, "> ")
		}
	}
	flush()
	return all
}
