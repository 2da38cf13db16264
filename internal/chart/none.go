//go:build noplots

package chart

import "errors"

// Boxes returns an error, because this program was built without plots.
func Boxes(string, []string, [][]float64) ([]byte, error) {
	return nil, errors.New("this program was built without plots")
}
