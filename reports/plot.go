package reports

import (
	"fmt"
	"html/template"
	"image/color"
	"math"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/holdfast-go/holdfast/internal/chart"
)

// fastest is the shortest hand-off the plot tells apart, in ms; its axis is
// logarithmic and has no zero.
const fastest = 0.01

// plotHandoffs draws one box per lock: the median, the middle half, and the
// rest as whiskers and dots. It returns "" when no lock handed over.
func plotHandoffs(all []*numbers) (template.HTML, error) {
	p := chart.New()
	p.X.Label.Text = "from release to the next waiter's grant"
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

	var names []string
	low, high := math.Inf(1), 0.0
	for i := len(all) - 1; i >= 0; i-- { // the first lock on top
		n := all[i]
		if len(n.handoffs) == 0 {
			continue
		}
		values := make(plotter.Values, len(n.handoffs))
		for j, ms := range n.handoffs {
			values[j] = max(ms, fastest)
			low, high = min(low, values[j]), max(high, values[j])
		}
		b, err := plotter.NewBoxPlot(vg.Points(11), float64(len(names)), thin(values))
		if err != nil {
			return "", fmt.Errorf("plot hand-offs of %s: %w", n.lock, err)
		}
		b.Horizontal = true
		b.FillColor = color.NRGBA{R: 0x3b, G: 0x6f, B: 0xb6, A: 0x50}
		b.GlyphStyle.Radius = vg.Points(1.2)
		b.MedianStyle.Width = vg.Points(2)
		b.WhiskerStyle.Dashes = nil
		p.Add(b)
		names = append(names, short(name(n.lock), 24))
	}
	if len(names) == 0 {
		return "", nil
	}
	p.NominalY(names...)
	p.X.Min = math.Pow(10, math.Floor(math.Log10(low)))
	p.X.Max = math.Pow(10, math.Ceil(math.Log10(high*1.0001)))
	p.Y.Min, p.Y.Max = -0.7, float64(len(names))-0.3

	svg, err := chart.SVG(p, vg.Points(640), vg.Points(70+24*float64(len(names))))
	if err != nil {
		return "", fmt.Errorf("plot hand-offs: %w", err)
	}
	return template.HTML(svg), nil
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

// decades labels powers of ten in the units people use, with unlabelled ticks
// between them.
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
