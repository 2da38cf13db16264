package history

import "fmt"

// At formats an instant of a run, rounded to the millisecond: "1.250 s".
func At(ns int64) string {
	const millisecond, second = 1e6, 1e9
	ns += millisecond / 2
	return fmt.Sprintf("%d.%03d s", ns/second, ns%second/millisecond)
}
