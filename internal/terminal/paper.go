package terminal

import (
	"bytes"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Print prepares w for text that people read. On a terminal, violations are red,
// properties that hold green, and unknown verdicts yellow, unless NO_COLOR is
// set. It folds a long line between words. Elsewhere the text stays unchanged.
func Print(w io.Writer, getenv func(string) string, text func(io.Writer) error) error {
	width := Width(w)
	if width == 0 {
		return text(w)
	}
	p := &paper{w: w, width: width, colour: getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"}
	if err := text(p); err != nil {
		return err
	}
	return p.end()
}

// paper is a terminal that gets whole lines.
type paper struct {
	w      io.Writer
	width  int
	colour bool
	line   []byte // the current line
}

func (p *paper) Write(b []byte) (int, error) {
	for rest := b; len(rest) > 0; {
		line, after, whole := bytes.Cut(rest, []byte("\n"))
		p.line = append(p.line, line...)
		if whole {
			if err := p.put("\n"); err != nil {
				return 0, err
			}
		}
		rest = after
	}
	return len(b), nil
}

// end writes a last line without a line break.
func (p *paper) end() error {
	if len(p.line) == 0 {
		return nil
	}
	return p.put("")
}

func (p *paper) put(end string) error {
	text := fold(string(p.line), p.width)
	p.line = p.line[:0]
	if p.colour {
		text = paint(text)
	}
	_, err := io.WriteString(p.w, text+end)
	return err
}

// fold breaks a line that is longer than width between words, and indents the
// rest. It does not break a long word.
func fold(line string, width int) string {
	const indent = "      "
	if utf8.RuneCountInString(line) <= width {
		return line
	}
	var b strings.Builder
	for at := ""; ; at = indent {
		cut := len(line)
		if utf8.RuneCountInString(at+line) > width {
			fits := string([]rune(line)[:width-len(at)+1])
			before := strings.TrimRight(fits[:max(0, strings.LastIndexByte(fits, ' '))], " ")
			if strings.TrimSpace(before) == "" {
				before = line
				if next := strings.IndexByte(line, ' '); next > 0 {
					before = line[:next]
				}
			}
			cut = len(before)
		}
		b.WriteString(at + line[:cut])
		if line = strings.TrimLeft(line[cut:], " "); line == "" {
			return b.String()
		}
		b.WriteString("\n")
	}
}

// head matches the line of a table that names its columns.
var head = regexp.MustCompile(`^ *(property|mutant|runs|fault|scenario|base|file) {2,}`)

// words are phrases with a colour: those of the first group are bad, of the
// second good, of the third unknown. The last group is any other word.
var words = regexp.MustCompile(`(not as expected|violated(?: \([a-z ]+\))?|\((?:contract broken|lease outlived)\)|survived\b|not found|Worse\b)|` +
	`(ok\b|as expected|killed\b|No violation|Nothing differs|Better\b)|(unknown\b|unfinished\b|not judged)|(\S+)`)

// colours are the colours of the groups, and of the marks of a matrix.
var (
	colours = []string{"\x1b[31m", "\x1b[32m", "\x1b[33m"}
	marks   = map[string]int{"X": 0, "#": 0, "~": 0, "D": 0, "!": 0, "[ok]": 0, "?": 2}
)

func paint(text string) string {
	if head.MatchString(text) {
		return text
	}
	var b strings.Builder
	at := 0
	for _, m := range words.FindAllStringSubmatchIndex(text, -1) {
		which := 0
		for which < 3 && m[2*which+2] < 0 {
			which++
		}
		if which == 3 {
			mark := text[m[0]:m[1]]
			known := false
			if which, known = marks[mark]; !known {
				if which, known = marks[strings.Trim(mark, "[]")]; !known {
					continue
				}
			}
		}
		if strings.HasSuffix(" "+text[:m[0]], " 0 ") { // there is none of it
			continue
		}
		b.WriteString(text[at:m[0]] + colours[which] + text[m[0]:m[1]] + "\x1b[0m")
		at = m[1]
	}
	return b.String() + text[at:]
}
