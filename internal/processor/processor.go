package processor

import "sync"

// Measured reports whether the system tells the processor time. It asks once.
var Measured = sync.OnceValue(func() bool {
	_, err := Time()
	return err == nil
})
