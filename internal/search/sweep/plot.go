package sweep

import (
	"fmt"
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/holdfast-go/holdfast/internal/chart"
)

// red is the colour of the second line of a plot.
var red = color.NRGBA{R: 0xb6, G: 0x3b, B: 0x3b, A: 0xff}

// Picture is the sweep as an SVG file: a curve with its intervals, or a heat
// map.
func (r *Result) Picture() ([]byte, error) {
	drawing := r.curve
	if len(r.plan.Axes) == 2 {
		drawing = r.heatMap
	}
	svg, err := drawing()
	if err != nil {
		return nil, fmt.Errorf("draw sweep: %w", err)
	}
	return svg, nil
}

// curve draws the probabilities over the first axis, each with the band of its
// intervals, and where overlaps begin.
func (r *Result) curve() ([]byte, error) {
	axis := r.plan.Axes[0]
	p := sheet(r.title())
	p.X.Label.Text = axis.Param.label
	p.Y.Label.Text = "part of the " + r.plan.events()
	p.Legend.Top, p.Legend.Left = true, true
	p.Legend.Padding = vg.Points(2)
	p.X.Tick.Marker = plot.TickerFunc(func(lo, hi float64) []plot.Tick { return axis.ticks(lo, hi) })
	p.Y.Tick.Marker = plot.TickerFunc(percentTicks)
	r.scale(p)
	grid := plotter.NewGrid()
	grid.Vertical.Width = 0
	grid.Horizontal.Color, grid.Horizontal.Width = color.Gray{Y: 0xcc}, vg.Points(0.4)
	p.Add(grid)

	bottom, top := 1.0, 0.0
	for _, s := range []struct {
		name   string
		colour color.NRGBA
		dashed bool
		chance func(resultPoint) chance
	}{
		{"two holders at once", chart.Blue, false, func(p resultPoint) chance { return p.Overlap }},
		{"an update is lost", red, true, func(p resultPoint) chance { return p.LostUpdate }},
	} {
		low, high, err := r.draw(p, s.name, s.colour, s.dashed, s.chance)
		if err != nil {
			return nil, err
		}
		bottom, top = min(bottom, low), max(top, high)
	}
	p.X.Min, p.X.Max = float64(axis.Values[0]), float64(axis.Values[len(axis.Values)-1])
	if len(axis.Values) == 1 {
		p.X.Min, p.X.Max = p.X.Min*0.9, p.X.Max*1.1
	}
	p.Y.Min, p.Y.Max = 0, min(1, top*1.1)
	if r.ratios() {
		p.Y.Min = bottom
	}
	for _, b := range r.Boundaries {
		if err := mark(p, float64(b.With), axis.Param.plain(b.With)); err != nil {
			return nil, err
		}
	}
	return chart.SVG(p, vg.Points(640), vg.Points(320))
}

// ratios reports whether the plot is one of ratios both ways, on which what grows
// in proportion is a straight line. It has no place for zero.
func (r *Result) ratios() bool {
	for _, p := range r.Points {
		if p.Overlaps == 0 || p.Lost == 0 {
			return false
		}
	}
	return r.plan.Axes[0].Log
}

func (r *Result) scale(p *plot.Plot) {
	if r.plan.Axes[0].Log {
		p.X.Scale = plot.LogScale{}
	}
	if r.ratios() {
		p.Y.Scale = plot.LogScale{}
		p.Y.Tick.Marker = plot.TickerFunc(func(lo, hi float64) []plot.Tick { return logTicks(lo, hi, percentTick) })
	}
}

// sheet is an empty plot on white, as a file of its own is shown on any ground.
func sheet(title string) *plot.Plot {
	p := chart.New()
	p.BackgroundColor = color.White
	p.Title.Text = title
	p.Title.TextStyle.Font.Variant, p.Title.TextStyle.Font.Size = "Sans", vg.Points(10)
	p.Title.Padding = vg.Points(6)
	return p
}

func (r *Result) draw(p *plot.Plot, name string, colour color.NRGBA, dashed bool, chance func(resultPoint) chance) (bottom, top float64, err error) {
	var line, band, back plotter.XYs
	bottom = 1
	for i, point := range r.Points {
		x, c := float64(r.plan.Axes[0].Values[i]), chance(point)
		if c.Low == 0 && c.High == 1 {
			continue // nothing is known
		}
		line = append(line, plotter.XY{X: x, Y: c.Share})
		band = append(band, plotter.XY{X: x, Y: c.Low})
		back = append(plotter.XYs{{X: x, Y: c.High}}, back...)
		bottom, top = min(bottom, c.Low), max(top, c.High)
	}
	if len(line) == 0 {
		return bottom, top, nil
	}
	area, err := plotter.NewPolygon(append(band, back...))
	if err != nil {
		return 0, 0, err
	}
	area.LineStyle.Width = 0
	area.Color = color.NRGBA{R: colour.R, G: colour.G, B: colour.B, A: 0x30}
	curve, dots, err := plotter.NewLinePoints(line)
	if err != nil {
		return 0, 0, err
	}
	curve.Color, curve.Width = colour, vg.Points(1.5)
	dots.GlyphStyle = draw.GlyphStyle{Color: colour, Radius: vg.Points(2), Shape: draw.CircleGlyph{}}
	if dashed {
		curve.Dashes = []vg.Length{vg.Points(4), vg.Points(3)}
		dots.Shape = draw.BoxGlyph{}
	}
	p.Add(area, curve, dots)
	p.Legend.Add(name, curve, dots)
	return bottom, top, nil
}

func mark(p *plot.Plot, x float64, what string) error {
	line, err := plotter.NewLine(plotter.XYs{{X: x, Y: p.Y.Min}, {X: x, Y: p.Y.Max}})
	if err != nil {
		return err
	}
	line.Color, line.Width = color.Gray{Y: 0x55}, vg.Points(0.8)
	line.Dashes = []vg.Length{vg.Points(2), vg.Points(2)}
	p.Add(line)
	p.Legend.Add("overlaps begin: "+what, line)
	return nil
}

func (r *Result) title() string {
	title := r.Scenario + " with " + r.Lock
	for _, a := range r.plan.Axes {
		if a.Param.Name == "lease" {
			return title
		}
	}
	return title + ", " + leaseOf(r.plan.Scenario)
}
