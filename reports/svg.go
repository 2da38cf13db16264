package reports

import (
	"html"
	"math"
	"strconv"
	"strings"
)

// drawing collects SVG elements. Every text that goes in is escaped here, and
// every number is rounded to a tenth of a pixel, so that a page with hundreds
// of drawings stays small.
type drawing struct {
	b        strings.Builder
	elements int
}

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

// rect draws a box; title, when there is one, is its tooltip.
func (d *drawing) rect(class string, x, y, w, h float64, title string) {
	d.elements++
	d.raw(`<rect class="`, class, `" x="`, px(x), `" y="`, px(y), `" width="`, px(max(w, 0)), `" height="`, px(h), `"`)
	d.close("rect", title)
}

func (d *drawing) line(class string, x1, y1, x2, y2 float64, title string) {
	d.path(class, "M"+px(x1)+" "+px(y1)+"L"+px(x2)+" "+px(y2), title)
}

// path draws a path; data must be made of numbers and letters of ours.
func (d *drawing) path(class, data, title string) {
	if data == "" {
		return
	}
	d.elements++
	d.raw(`<path class="`, class, `" d="`, data, `"`)
	d.close("path", title)
}

func (d *drawing) text(class string, x, y float64, text string) {
	d.elements++
	d.raw(`<text class="`, class, `" x="`, px(x), `" y="`, px(y), `">`, html.EscapeString(clean(text)), "</text>\n")
}

func (d *drawing) close(element, title string) {
	if title == "" {
		d.raw("/>\n")
		return
	}
	d.raw("><title>", html.EscapeString(clean(title)), "</title></", element, ">\n")
}

// textWidth guesses how wide a label gets at the size of the drawings' labels.
func textWidth(s string) float64 {
	w := 0.0
	for _, r := range s {
		switch {
		case r > 0x2e80:
			w += 11
		case strings.ContainsRune("iljtf.,:;'|/!()[] ", r):
			w += 3.7
		case strings.ContainsRune("mwMW", r):
			w += 9.5
		default:
			w += 6.4
		}
	}
	return w
}

// labelRows places labels in as few rows as keep them apart.
type labelRows struct {
	ends []float64 // right edge of the last label of each row
	most int
}

// place returns the row for a label from x to x+w, or false when there is none.
func (l *labelRows) place(x, w float64) (int, bool) {
	for i, end := range l.ends {
		if x >= end+8 {
			l.ends[i] = x + w
			return i, true
		}
	}
	if len(l.ends) == l.most {
		return 0, false
	}
	l.ends = append(l.ends, x+w)
	return len(l.ends) - 1, true
}
