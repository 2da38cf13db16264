package words

import (
	"regexp"
	"strings"
)

var (
	item = regexp.MustCompile(`^\s*(?:[-*]|\d+\.)\s+`)
	link = regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`)
	code = regexp.MustCompile("`[^`]*`")
)

// Markdown is the prose of a page: its paragraphs, the items of its lists and the
// cells of its tables. It leaves out headings, code, and the output of commands
// between "<!-- begin" and "<!-- end". A code span counts as one word.
func Markdown(page string) []Text {
	var all []Text
	var open Text
	flush := func() {
		if strings.TrimSpace(open.Text) != "" {
			open.Text = link.ReplaceAllString(code.ReplaceAllString(open.Text, "code"), "$1")
			all = append(all, open)
		}
		open = Text{}
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
				open = Text{i + 1, cell}
				flush()
			}
		case item.MatchString(line):
			flush()
			listed = true
			open = Text{i + 1, item.ReplaceAllString(line, "")}
		case strings.HasPrefix(line, "    ") && open.Text == "" && !listed:
		default:
			if listed = listed && strings.HasPrefix(line, " "); open.Text == "" {
				open.Line = i + 1
			}
			open.Text += " " + strings.TrimPrefix(line, "> ")
		}
	}
	flush()
	return all
}
