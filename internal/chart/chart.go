//go:build !noplots

// Package chart draws plots in one style, for a page of HTML or as a file. With the
// build tag noplots it draws nothing, and links no plotting library.
package chart

import (
	"bytes"
	"fmt"
	"html"
	"image/color"
	"math"
	"regexp"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Blue is the colour of what a plot is about.
var Blue = color.NRGBA{R: 0x3b, G: 0x6f, B: 0xb6, A: 0xff}

// New is an empty plot without a background.
func New() *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil // the backend would draw a transparent one as a colour named none
	for _, style := range []*text.Style{&p.X.Label.TextStyle, &p.Y.Label.TextStyle, &p.X.Tick.Label, &p.Y.Tick.Label, &p.Legend.TextStyle} {
		style.Font.Variant = "Sans"
		style.Font.Size = vg.Points(9)
	}
	return p
}

// SVG draws a plot as an element for a page of HTML. It fixes the width of every
// text, because the reader's machine may lack the font, and another one could be
// cut off at the edge.
func SVG(p *plot.Plot, width, height vg.Length) ([]byte, error) {
	c := vgsvg.New(width, height)
	p.Draw(draw.New(c))
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return nil, fmt.Errorf("draw plot: %w", err)
	}
	// The backend escapes texts. SVG removes the prolog, which is not HTML.
	svg := b.Bytes()
	if i := bytes.Index(svg, []byte("<svg")); i > 0 {
		svg = svg[i:]
	}
	svg = pinWidths(svg, p.X.Tick.Label)
	return bytes.ReplaceAll(svg, []byte("\n\t"), []byte(" ")), nil
}

var plotText = regexp.MustCompile(`<text ([^<>]*)>([^<>]*)</text>`)

func pinWidths(svg []byte, style text.Style) []byte {
	return plotText.ReplaceAllFunc(svg, func(element []byte) []byte {
		m := plotText.FindSubmatch(element)
		width := style.Width(html.UnescapeString(string(m[2]))).Points()
		if width <= 0 {
			return element
		}
		return fmt.Appendf(nil, `<text %s textLength="%s" lengthAdjust="spacingAndGlyphs">%s</text>`, m[1], strconv.FormatFloat(math.Round(width*10)/10, 'f', -1, 64), m[2])
	})
}
