package sweep

import (
	"math"
	"strconv"
	"time"

	"gonum.org/v1/plot"
)

// ticks labels an axis in the units people use.
func (a axis) ticks(lo, hi float64) []plot.Tick {
	if a.Log {
		return logTicks(lo, hi, a.tick)
	}
	return evenTicks(lo, hi, a.tick)
}

func (a axis) tick(x float64) string {
	if a.Param.Count {
		if x != math.Trunc(x) {
			return ""
		}
		return a.Param.format(Value(x))
	}
	return span(time.Duration(math.Round(x)))
}

// evenTicks are five to ten, at round numbers.
func evenTicks(lo, hi float64, label func(float64) string) []plot.Tick {
	step := math.Pow(10, math.Floor(math.Log10(hi-lo)))
	for _, finer := range []float64{5, 2, 1} {
		if s := step / 10 * finer; step > s && (hi-lo)/step < 5 {
			step = s
		}
	}
	var ticks []plot.Tick
	for i := math.Ceil(lo / step * (1 - 1e-9)); i*step <= hi*(1+1e-9); i++ {
		x := i * step
		ticks = append(ticks, plot.Tick{Value: x, Label: label(x)})
	}
	return ticks
}

// logTicks labels 1, 2 and 5 times the powers of ten.
func logTicks(lo, hi float64, label func(float64) string) []plot.Tick {
	var ticks []plot.Tick
	for e := math.Floor(math.Log10(lo)); e <= math.Ceil(math.Log10(hi)); e++ {
		for m := 1.0; m < 10; m++ {
			v := m * math.Pow(10, e)
			if v < lo*(1-1e-9) || v > hi*(1+1e-9) {
				continue
			}
			t := plot.Tick{Value: v}
			if m == 1 || m == 2 || m == 5 {
				t.Label = label(v)
			}
			ticks = append(ticks, t)
		}
	}
	return ticks
}

func percentTicks(lo, hi float64) []plot.Tick { return evenTicks(lo, hi, percentTick) }

func percentTick(share float64) string { return strconv.FormatFloat(share*100, 'g', 4, 64) + " %" }
