package sweep

import (
	"math"
	"testing"
)

// The values are those of Newcombe (1998), method 3, and of the rule of three.
func TestIntervalAgainstKnownValues(t *testing.T) {
	for _, tt := range []struct {
		p         proportion
		low, high float64
	}{
		{proportion{81, 263}, 0.2553, 0.3662},
		{proportion{15, 148}, 0.0624, 0.1605},
		{proportion{0, 20}, 0, 0.1611},
		{proportion{1, 29}, 0.0061, 0.1718},
		{proportion{20, 20}, 0.8389, 1},
		{proportion{0, 0}, 0, 1},
	} {
		low, high := tt.p.interval()
		if math.Abs(low-tt.low) > 0.00006 || math.Abs(high-tt.high) > 0.00006 {
			t.Errorf("%d of %d: %.4f to %.4f, want %.4f to %.4f", tt.p.Hits, tt.p.Of, low, high, tt.low, tt.high)
		}
	}
}

// Of many samples of a known probability about 95 % must have it in theirs.
func TestIntervalCovers(t *testing.T) {
	for _, share := range []float64{0.004, 0.05, 0.3, 0.9} {
		const n = 500
		covered := 0.0
		for hits := 0; hits <= n; hits++ {
			if low, high := (proportion{hits, n}).interval(); low <= share && share <= high {
				covered += binomial(n, hits, share)
			}
		}
		if covered < 0.93 || covered > 0.98 {
			t.Errorf("a probability of %v is in %.1f %% of the intervals", share, 100*covered)
		}
	}
}

func binomial(n, k int, p float64) float64 {
	a, _ := math.Lgamma(float64(n + 1))
	b, _ := math.Lgamma(float64(k + 1))
	c, _ := math.Lgamma(float64(n - k + 1))
	return math.Exp(a - b - c + float64(k)*math.Log(p) + float64(n-k)*math.Log1p(-p))
}

func TestChanceInWords(t *testing.T) {
	for _, tt := range []struct {
		p          proportion
		want, cell string
	}{
		{proportion{50, 12000}, "1 in 240 failovers gives two holders (95 %: 180 to 320)", "1 in 240 (180 to 320)"},
		{proportion{21, 200}, "1 in 9.5 failovers gives two holders (95 %: 6.4 to 14)", "1 in 9.5 (6.4 to 14)"},
		{proportion{0, 200}, "none of 200 failovers gives two holders (95 %: fewer than 1 in 53)", "none (fewer than 1 in 53)"},
		{proportion{133, 200}, "66 % of failovers give two holders (95 %: 60 % to 73 %)", "66 % (60 % to 73 %)"},
		{proportion{200, 200}, "all of 200 failovers give two holders (95 %: more than 98 %)", "all (more than 98 %)"},
		{proportion{0, 0}, "nobody knows how many failovers give two holders: no run was judged", "not known"},
	} {
		if got := tt.p.chance("failovers", "gives two holders", "give two holders"); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.p, got, tt.want)
		}
		if got := tt.p.cell(); got != tt.cell {
			t.Errorf("%v: %q, want %q", tt.p, got, tt.cell)
		}
	}
}
