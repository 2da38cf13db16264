package reports

import (
	"fmt"
	"html"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/reports/results"
)

// drawing collects SVG elements of an HTML page. It escapes every text. A page has
// hundreds of drawings, so it rounds numbers to a tenth of a pixel, and leaves out quotes.
type drawing struct {
	b        strings.Builder
	elements int
	lines    []textLine
}

// textLine is the line of a text of a drawing, from x1 to x2.
type textLine struct{ x1, x2, y float64 }

func px(v float64) string {
	v = math.Round(v*10) / 10
	if v == 0 {
		v = 0 // no "-0"
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

func (d *drawing) raw(parts ...string) {
	for _, p := range parts {
		d.b.WriteString(p)
	}
}

// rect draws a box. A title becomes its tooltip.
func (d *drawing) rect(class string, x, y, w, h float64, title string) {
	d.elements++
	d.raw(`<rect x=`, px(x), ` y=`, px(y), ` width=`, px(max(w, 0)), ` height=`, px(h), ` class="`, class, `"`) // the quote keeps the slash out
	d.close("rect", title)
}

func (d *drawing) line(class string, x1, y1, x2, y2 float64, title string) {
	to := "L" + px(x2) + " " + px(y2)
	switch {
	case y1 == y2:
		to = "H" + px(x2)
	case x1 == x2:
		to = "V" + px(y2)
	}
	d.path(class, "M"+px(x1)+" "+px(y1)+to, title)
}

// path draws a path. data must consist of numbers and letters from this package.
func (d *drawing) path(class, data, title string) {
	if data == "" {
		return
	}
	d.elements++
	// A minus sign separates numbers as well as a space does.
	d.raw(`<path class=`, attribute(class), ` d="`, strings.ReplaceAll(data, " -", "-"), `"`)
	d.close("path", title)
}

func (d *drawing) text(class string, x, y float64, text string) {
	d.elements++
	d.lines = append(d.lines, lineOf(class, x, y, text))
	d.raw(`<text x=`, px(x), ` y=`, px(y), ` class=`, attribute(class), `>`, html.EscapeString(english.Clean(text)), "</text>\n")
}

// write draws a text unless it would cover another one. It reports whether it did. Lines ten
// pixels apart do not touch.
func (d *drawing) write(class string, x, y float64, text string) bool {
	n := lineOf(class, x, y, text)
	free := !slices.ContainsFunc(d.lines, func(o textLine) bool { return n.x1 < o.x2 && o.x1 < n.x2 && math.Abs(n.y-o.y) < 10 })
	if free {
		d.text(class, x, y, text)
	}
	return free
}

func lineOf(class string, x, y float64, text string) textLine {
	w := textWidth(text)
	if slices.Contains([]string{"tick", "halo", "nokey"}, class) { // the style sheet centres them
		x -= w / 2
	}
	return textLine{x, x + w, y}
}

// attribute is a class name as the value of an attribute, in quotes if it needs them.
func attribute(class string) string {
	if strings.Contains(class, " ") {
		return `"` + class + `"`
	}
	return class
}

// share draws elements that have one tooltip.
func (d *drawing) share(title string, draw func()) {
	d.raw("<g><title>", html.EscapeString(english.Clean(title)), "</title>\n")
	draw()
	d.raw("</g>\n")
}

func (d *drawing) close(element, title string) {
	if title == "" {
		d.raw("/>\n")
		return
	}
	d.raw("><title>", html.EscapeString(english.Clean(title)), "</title></", element, ">\n")
}

// textWidth is the width of a label at the size of the drawings' labels, in the
// widest of the common default fonts. So no label is cut off or overlaps another
// one, whatever fonts a reader has.
func textWidth(s string) float64 {
	w := 0.0
	for _, r := range s {
		switch {
		case r > 0x2e80:
			w += 12
		case strings.ContainsRune("iljtfr.,:;'|/!()[]- ", r):
			w += 4.7
		case strings.ContainsRune("mwMW@%", r):
			w += 11.4
		case r >= 'A' && r <= 'Z':
			w += 8.2
		default:
			w += 7.3
		}
	}
	return w
}

// lostMark marks the moment at which an owner learns that its hold is lost.
func (d *drawing) lostMark(x, y float64, title string) {
	d.path("lost", fmt.Sprintf("M%s %sl5 6l-5 6l-5 -6Z", px(x), px(y-6)), title)
}

// crashMark marks the death of a client.
func (d *drawing) crashMark(x, y float64, title string) {
	d.path("crash", fmt.Sprintf("M%s %sl10 10m0 -10l-10 10", px(x-5), px(y-5)), title)
}

func boldWidth(s string) float64 { return 1.13 * textWidth(s) }

// labelRows places labels in as few rows as keep them apart.
type labelRows struct {
	rows [][]stretch // the occupied parts of each row
	most int
}

// stretch is a part of a row, from x1 to x2.
type stretch struct{ x1, x2 float64 }

// place returns the row for a label from x to x+w, or false if no row has room.
func (l *labelRows) place(x, w float64) (int, bool) {
	const apart = 8
	for i, taken := range l.rows {
		if !slices.ContainsFunc(taken, func(s stretch) bool { return x < s.x2+apart && s.x1 < x+w+apart }) {
			l.rows[i] = append(taken, stretch{x, x + w})
			return i, true
		}
	}
	if len(l.rows) == l.most {
		return 0, false
	}
	l.rows = append(l.rows, []stretch{{x, x + w}})
	return len(l.rows) - 1, true
}

// writeSVG writes the diagram of a run as a file of its own.
func writeSVG(w io.Writer, h *history.History, r *results.Run) error {
	svg, _ := Draw(h, r)
	head, body, ok := strings.Cut(string(svg), ">")
	if !ok {
		return fmt.Errorf("draw %s with %s: the history has no operations", english.Name(r.Scenario), english.Name(r.Column()))
	}
	box := viewBox.FindStringSubmatch(head)
	defs := strings.TrimSuffix(strings.SplitN(string(Patterns()), "<defs>", 2)[1], "</svg>")
	// XML requires quotes around all attributes.
	body = svgTag.ReplaceAllStringFunc(body, func(tag string) string { return svgBare.ReplaceAllString(tag, `="$1"`) })
	_, err := fmt.Fprintf(w, "%s xmlns=\"http://www.w3.org/2000/svg\" width=\"%s\" height=\"%s\" font-family=\"sans-serif\">\n<style>\n%s</style>\n<defs>%s<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>%s",
		head, box[1], box[2], paper(file("drawing.css")), defs, body)
	return err
}

var (
	viewBox  = regexp.MustCompile(`viewBox="0 0 (\S+) (\S+)"`)
	dark     = regexp.MustCompile(`(?s)@media \(prefers-color-scheme: dark\) \{\n.*?\n\}\n`)
	root     = regexp.MustCompile(`(?s):root \{\n.*?\n\}\n`)
	variable = regexp.MustCompile(`--([a-z0-9-]+): ([^;]+);`)
	used     = regexp.MustCompile(`var\(--([a-z0-9-]+)\)`)
)

var (
	svgTag  = regexp.MustCompile(`<(?:rect|text|path) [^>]*>`)
	svgBare = regexp.MustCompile(`=([^" >]+)`)
)

// paper replaces the variables of a style sheet by the light colours, for
// programs that do not know variables.
func paper(sheet string) string {
	sheet = dark.ReplaceAllString(sheet, "")
	colours := map[string]string{}
	for _, v := range variable.FindAllStringSubmatch(root.FindString(sheet), -1) {
		colours[v[1]] = v[2]
	}
	return used.ReplaceAllStringFunc(root.ReplaceAllString(sheet, ""), func(v string) string { return colours[used.FindStringSubmatch(v)[1]] })
}
