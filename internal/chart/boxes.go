//go:build !noplots

package chart

import (
	"fmt"
	"image/color"
	"math"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// fastest is the shortest duration that the plot resolves, in ms. Its axis is
// logarithmic and has no zero.
const fastest = 0.01

// Boxes draws durations, one box per row of sorted milliseconds: the median, the middle half,
// and the rest as whiskers and dots. It returns nil if no row has a value. label
// is the label of the axis.
func Boxes(label string, names []string, ms [][]float64) ([]byte, error) {
	p := New()
	p.X.Label.Text = label
	p.X.Scale = plot.LogScale{}
	p.X.Tick.Marker = plot.TickerFunc(decades)
	p.Y.LineStyle.Width = 0
	p.Y.Tick.LineStyle.Width = 0
	p.X.Padding = vg.Points(6)

	grid := plotter.NewGrid()
	grid.Horizontal.Width = 0
	grid.Vertical.Color = color.Gray{Y: 0xbb}
	grid.Vertical.Width = vg.Points(0.4)
	p.Add(grid)

	var drawn []string
	low, high := math.Inf(1), 0.0
	for i := len(names) - 1; i >= 0; i-- { // the first one on top
		if len(ms[i]) == 0 {
			continue
		}
		values := make(plotter.Values, len(ms[i]))
		for j, x := range ms[i] {
			values[j] = max(x, fastest)
			low, high = min(low, values[j]), max(high, values[j])
		}
		b, err := plotter.NewBoxPlot(vg.Points(11), float64(len(drawn)), thin(values))
		if err != nil {
			return nil, fmt.Errorf("plot %s: %w", names[i], err)
		}
		b.Horizontal = true
		b.FillColor = color.NRGBA{R: 0x3b, G: 0x6f, B: 0xb6, A: 0x50}
		b.GlyphStyle.Radius = vg.Points(1.2)
		b.MedianStyle.Width = vg.Points(2)
		b.WhiskerStyle.Dashes = nil
		p.Add(b)
		drawn = append(drawn, names[i])
	}
	if len(drawn) == 0 {
		return nil, nil
	}
	p.NominalY(drawn...)
	p.X.Min = math.Pow(10, math.Floor(math.Log10(low)))
	p.X.Max = math.Pow(10, math.Ceil(math.Log10(high*1.0001)))
	p.Y.Min, p.Y.Max = -0.7, float64(len(drawn))-0.3

	svg, err := SVG(p, vg.Points(640), vg.Points(70+24*float64(len(drawn))))
	if err != nil {
		return nil, fmt.Errorf("plot: %w", err)
	}
	return svg, nil
}

// thin keeps a box plot of many values small: above 400 it takes 400 of them,
// evenly spaced in order, with both extremes.
func thin(sorted plotter.Values) plotter.Values {
	const most = 400
	if len(sorted) <= most {
		return sorted
	}
	out := make(plotter.Values, most)
	for i := range out {
		out[i] = sorted[i*(len(sorted)-1)/(most-1)]
	}
	return out
}

// decades labels powers of ten in common units, with unlabelled ticks between
// them.
func decades(low, high float64) []plot.Tick {
	var ticks []plot.Tick
	for e := math.Floor(math.Log10(low)); e <= math.Ceil(math.Log10(high)); e++ {
		v := math.Pow(10, e)
		ticks = append(ticks, plot.Tick{Value: v, Label: decade(v)})
		for _, m := range []float64{2, 5} {
			ticks = append(ticks, plot.Tick{Value: v * m})
		}
	}
	return ticks
}

func decade(ms float64) string {
	switch {
	case ms >= 1000:
		return strconv.FormatFloat(ms/1000, 'g', 4, 64) + " s"
	case ms >= 1:
		return strconv.FormatFloat(ms, 'g', 4, 64) + " ms"
	}
	return strconv.FormatFloat(ms*1000, 'f', 0, 64) + " µs"
}
