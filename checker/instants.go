package checker

import (
	"fmt"
	"math"

	"github.com/holdfast-go/holdfast/checker/history"
)

// never is the time of what does not happen.
const never = math.MaxInt64

const (
	millisecond int64 = 1e6
	second      int64 = 1e9
)

type instants map[string]int64

// at is the time of a client, or never.
func (m instants) at(client string) int64 {
	if when, ok := m[client]; ok {
		return when
	}
	return never
}

// plus adds without exceeding never.
func plus(a, b int64) int64 {
	if a > never-b {
		return never
	}
	return a + b
}

func at(ns int64) string { return history.At(ns) }

// long formats a duration: milliseconds below a second, else seconds.
func long(ns int64) string {
	if ns < second-millisecond/2 {
		return fmt.Sprintf("%.3g ms", ms(ns))
	}
	return fmt.Sprintf("%.3f s", float64(ns)/float64(second))
}

func ms(ns int64) float64 { return float64(ns) / float64(millisecond) }
