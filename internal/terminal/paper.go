package terminal

import (
	"bytes"
	"io"
	"os"
	"strings"
	"unicode/utf8"
)

// Colours reports whether text for w may have colours: on a terminal, unless NO_COLOR is
// set or TERM is dumb.
func Colours(w io.Writer) bool {
	return Width(w) > 0 && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// Print prepares w for text that people read: on a terminal, it folds long lines between
// words. Elsewhere the text stays unchanged.
func Print(w io.Writer, text func(io.Writer) error) error {
	width := Width(w)
	if width == 0 {
		return text(w)
	}
	p := &paper{w: w, width: width}
	if err := text(p); err != nil {
		return err
	}
	return p.end()
}

// paper is a terminal that gets whole lines.
type paper struct {
	w     io.Writer
	width int
	line  []byte // the current line
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
	_, err := io.WriteString(p.w, fold(string(p.line), p.width)+end)
	p.line = p.line[:0]
	return err
}

// fold breaks a line that is longer than width between words, and indents the
// rest. It does not break a long word. A line with colours stays whole: its printer has
// fitted it to the width.
func fold(line string, width int) string {
	const indent = "      "
	if utf8.RuneCountInString(line) <= width || strings.Contains(line, "\x1b") {
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
