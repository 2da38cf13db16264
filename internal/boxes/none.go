//go:build noplots

package boxes

import "errors"

// SVG returns an error, because this program was built without plots.
func SVG(string, []string, [][]float64) ([]byte, error) {
	return nil, errors.New("this program was built without plots")
}
