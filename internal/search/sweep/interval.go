package sweep

import (
	"fmt"
	"math"
	"strconv"
)

// proportion counts the runs with a property among a number of runs.
type proportion struct {
	Hits, Of int
}

// share is the part that had it; 0 when there were no runs.
func (p proportion) share() float64 {
	if p.Of == 0 {
		return 0
	}
	return float64(p.Hits) / float64(p.Of)
}

// interval is the 95 % interval of the probability, see [wilson].
func (p proportion) interval() (low, high float64) { return wilson(p.Hits, p.Of) }

// rare is the share up to which people say "1 in N".
const rare = 1.0 / 3

// chance is the proportion in words: "1 in 240 failovers gives two holders
// (95 %: 180 to 330)". what is the things there are, gives and give what came
// of one of them and of several.
func (p proportion) chance(what, gives, give string) string {
	low, high := p.interval()
	switch {
	case p.Of == 0:
		return fmt.Sprintf("nobody knows how many %s %s: no run was judged", what, give)
	case p.Hits == 0:
		return fmt.Sprintf("none of %d %s %s (95 %%: fewer than 1 in %s)", p.Of, what, gives, oneIn(high))
	case p.Hits == p.Of:
		return fmt.Sprintf("all of %d %s %s (95 %%: more than %s)", p.Of, what, give, percent(low))
	case p.share() <= rare:
		return fmt.Sprintf("1 in %s %s %s (95 %%: %s to %s)", oneIn(p.share()), what, gives, oneIn(high), oneIn(low))
	}
	return fmt.Sprintf("%s of %s %s (95 %%: %s to %s)", percent(p.share()), what, give, percent(low), percent(high))
}

// cell is the proportion for the cell of a table: "1 in 240 (180 to 330)".
func (p proportion) cell() string {
	low, high := p.interval()
	switch {
	case p.Of == 0:
		return "not known"
	case p.Hits == 0:
		return "none (fewer than 1 in " + oneIn(high) + ")"
	case p.Hits == p.Of:
		return "all (more than " + percent(low) + ")"
	case p.share() <= rare:
		return fmt.Sprintf("1 in %s (%s to %s)", oneIn(p.share()), oneIn(high), oneIn(low))
	}
	return fmt.Sprintf("%s (%s to %s)", percent(p.share()), percent(low), percent(high))
}

// oneIn is the N of "1 in N", to two digits where it is above 10.
func oneIn(share float64) string {
	n := 1 / share
	if n < 10 {
		return strconv.FormatFloat(math.Round(n*10)/10, 'f', -1, 64)
	}
	unit := math.Pow(10, math.Floor(math.Log10(n))-1)
	return strconv.FormatFloat(math.Round(n/unit)*unit, 'f', -1, 64)
}

func percent(share float64) string {
	digits := 0
	if share < 0.01 || share > 0.99 {
		digits = 1
	}
	return strconv.FormatFloat(share*100, 'f', digits, 64) + " %"
}

// z is half the width of the middle 95 % of a normal distribution, in standard
// deviations.
const z = 1.959963984540054

// wilson is Wilson's 95 % interval of the probability of an event that occurred
// hits times. It holds for small numbers and for no hits at all. Without any
// trial it is from 0 to 1.
func wilson(hits, of int) (low, high float64) {
	if of == 0 {
		return 0, 1
	}
	n, share := float64(of), float64(hits)/float64(of)
	centre := share + z*z/(2*n)
	reach := z * math.Sqrt(share*(1-share)/n+z*z/(4*n*n))
	low, high = (centre-reach)/(1+z*z/n), (centre+reach)/(1+z*z/n)
	if hits == 0 {
		low = 0
	}
	if hits == of {
		high = 1
	}
	return low, high
}
