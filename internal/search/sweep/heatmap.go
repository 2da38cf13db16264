package sweep

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"

	"github.com/holdfast-go/holdfast/internal/chart"
)

// heatMap draws the probability of an overlap over both axes. Each pair of values has a
// cell, the darker the likelier, with the number in it. Cells are equally large, however
// far apart the values are.
func (r *Result) heatMap() ([]byte, error) {
	first, second := r.plan.Axes[0], r.plan.Axes[1]
	p := sheet(r.title() + ": two holders, of the " + r.plan.events())
	p.X.Label.Text, p.Y.Label.Text = first.Param.label, second.Param.label
	p.Add(plotter.NewHeatMap(cells{r}, shades{}))

	labels := plotter.XYLabels{}
	var dark []bool
	for i, point := range r.Points {
		share := point.Overlap.Share
		word := percent(share)
		switch known := point.Count.overlap(); {
		case known.Of == 0:
			word = "?"
		case known.Hits == 0:
			word = "none"
		case known.Hits == known.Of:
			word = "all"
		}
		labels.XYs = append(labels.XYs, plotter.XY{X: float64(i % len(first.Values)), Y: float64(i / len(first.Values))})
		labels.Labels = append(labels.Labels, word)
		dark = append(dark, share > 0.55)
	}
	words, err := plotter.NewLabels(labels)
	if err != nil {
		return nil, err
	}
	for i := range words.TextStyle {
		style := &words.TextStyle[i]
		style.Font.Variant, style.Font.Size = "Sans", vg.Points(8)
		style.XAlign, style.YAlign = text.XCenter, text.YCenter
		if dark[i] {
			style.Color = color.White
		}
	}
	p.Add(words)
	p.X.Tick.Marker, p.Y.Tick.Marker = nominal(first), nominal(second)
	width, height := 80+54*len(first.Values), 90+26*len(second.Values)
	return chart.SVG(p, vg.Points(float64(min(1400, max(480, width)))), vg.Points(float64(min(1400, max(160, height)))))
}

// nominal has a tick for each value, at its place in the order.
func nominal(a axis) plot.Ticker {
	var ticks []plot.Tick
	for i, v := range a.Values {
		ticks = append(ticks, plot.Tick{Value: float64(i), Label: a.tick(float64(v))})
	}
	return plot.ConstantTicks(ticks)
}

type cells struct{ r *Result }

func (c cells) Dims() (columns, rows int) {
	return len(c.r.plan.Axes[0].Values), len(c.r.plan.Axes[1].Values)
}
func (c cells) X(column int) float64 { return float64(column) }
func (c cells) Y(row int) float64    { return float64(row) }

// Z is the probability, NaN if unknown.
func (c cells) Z(column, row int) float64 {
	p := c.r.Points[row*len(c.r.plan.Axes[0].Values)+column]
	if p.Count.overlap().Of == 0 {
		return math.NaN()
	}
	return p.Overlap.Share
}

func (cells) Min() float64 { return 0 }
func (cells) Max() float64 { return 1 }

// shades are the colours of probabilities, from none to certain.
type shades struct{}

// Colors implements palette.Palette.
func (shades) Colors() []color.Color {
	const steps = 101
	all := make([]color.Color, steps)
	mix := func(to uint8, part float64) uint8 { return uint8(math.Round(0xff - (0xff-float64(to))*part)) }
	for i := range all {
		part := float64(i) / (steps - 1)
		all[i] = color.NRGBA{R: mix(chart.Blue.R, part), G: mix(chart.Blue.G, part), B: mix(chart.Blue.B, part), A: 0xff}
	}
	return all
}
