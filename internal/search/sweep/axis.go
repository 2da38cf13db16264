package sweep

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Limits of an axis.
const (
	defaultSteps = 10
	maxSteps     = 200
	maxTime      = 24 * time.Hour
	maxCount     = 20
)

// axis is a parameter and the values it takes, in ascending order.
type axis struct {
	Param  Param
	Values []Value
	Log    bool // the values are evenly far apart by their ratio
}

// parseAxis reads "lag=1ms..500ms:10", ten values evenly far apart,
// "lag=1ms~500ms:10", ten with the same ratio from each to the next, or a list,
// "pause=5s,8s,10s". Values between the ends are rounded, to three digits where that tells them
// apart. An
// error says what is wrong, with a hint in a line of its own.
func parseAxis(over string) (axis, error) {
	name, text, ok := strings.Cut(over, "=")
	if !ok || name == "" || text == "" {
		return axis{}, fmt.Errorf("%q is no parameter with its values\nhint: such as lag=1ms..500ms:10, lag=1ms~500ms:10 (by ratio) or pause=5s,8s,10s", over)
	}
	p, err := findParam(name)
	if err != nil {
		return axis{}, err
	}
	a := axis{Param: p}
	switch {
	case strings.Contains(text, ".."):
		err = a.between(strings.SplitN(text, "..", 2))
	case strings.Contains(text, "~"):
		a.Log = true
		err = a.between(strings.SplitN(text, "~", 2))
	default:
		err = a.list(strings.Split(text, ","))
	}
	if err != nil {
		return axis{}, fmt.Errorf("%s: %w", over, err)
	}
	return a, nil
}

func (a *axis) list(words []string) error {
	for _, w := range words {
		v, err := a.Param.parse(w)
		if err != nil {
			return err
		}
		a.Values = append(a.Values, v)
	}
	slices.Sort(a.Values)
	for i := 1; i < len(a.Values); i++ {
		if a.Values[i] == a.Values[i-1] {
			return fmt.Errorf("%s is listed twice", a.Param.format(a.Values[i]))
		}
	}
	if len(a.Values) > maxSteps {
		return fmt.Errorf("%d values: at most %d", len(a.Values), maxSteps)
	}
	return nil
}

// between fills in a range, "500ms" or "500ms:10" being its second end.
func (a *axis) between(ends []string) error {
	last, count, counted := strings.Cut(ends[1], ":")
	lo, err := a.Param.parse(ends[0])
	if err != nil {
		return err
	}
	hi, err := a.Param.parse(last)
	if err != nil {
		return err
	}
	steps := defaultSteps
	if counted {
		if steps, err = strconv.Atoi(count); err != nil || steps < 2 || steps > maxSteps {
			return fmt.Errorf("%q values: must be a number from 2 to %d", count, maxSteps)
		}
	}
	if lo >= hi {
		return fmt.Errorf("the range ends at %s, not after its beginning, %s", a.Param.format(hi), a.Param.format(lo))
	}
	if a.Log && lo <= 0 {
		return fmt.Errorf("a range by ratio begins above 0, not at %s\nhint: use .. for one that is evenly spaced", a.Param.format(lo))
	}
	if a.Param.Count && !counted {
		steps = int(hi-lo) + 1
	}
	for digits := 3; digits < 10 && len(a.Values) < steps; digits++ {
		a.Values = a.steps(lo, hi, steps, digits)
	}
	return nil
}

// steps returns up to steps values from lo to hi. Rounding makes some of them
// equal.
func (a *axis) steps(lo, hi Value, steps, digits int) []Value {
	var values []Value
	for i := range steps {
		v := a.part(lo, hi, float64(i)/float64(steps-1), digits)
		if n := len(values); n == 0 || v > values[n-1] {
			values = append(values, v)
		}
	}
	return values
}

// part is the value at a part of the way from lo to hi, which is exact at
// either end and rounded between.
func (a *axis) part(lo, hi Value, at float64, digits int) Value {
	switch {
	case at <= 0:
		return lo
	case at >= 1:
		return hi
	}
	x := float64(lo) + at*float64(hi-lo)
	if a.Log {
		x = float64(lo) * math.Pow(float64(hi)/float64(lo), at)
	}
	if a.Param.Count {
		return Value(math.Round(x))
	}
	return min(hi, max(lo, rounded(x, digits)))
}

func rounded(x float64, digits int) Value {
	if x == 0 {
		return 0
	}
	unit := math.Pow(10, math.Floor(math.Log10(math.Abs(x)))-float64(digits-1))
	return Value(math.Round(math.Round(x/unit) * unit))
}

func (p Param) parse(word string) (Value, error) {
	if p.Count {
		n, err := strconv.Atoi(word)
		if err != nil || n < 0 || n > maxCount {
			return 0, fmt.Errorf("%q is no value of %s: a number from 0 to %d", word, p.Name, maxCount)
		}
		return Value(n), nil
	}
	d, err := time.ParseDuration(word)
	if err != nil {
		return 0, fmt.Errorf("%q is no value of %s: a time, such as 500ms or 1.5s", word, p.Name)
	}
	if d.Abs() > maxTime || (d <= 0 && !p.signed) || d == 0 {
		return 0, fmt.Errorf("%s is no value of %s: a time above 0, at most %s", word, p.Name, maxTime)
	}
	return Value(d), nil
}

// format writes a value as [parseAxis] reads it.
func (p Param) format(v Value) string {
	if p.Count {
		return strconv.FormatInt(int64(v), 10)
	}
	return time.Duration(v).String()
}
