//go:build !unix

package goroutines

import (
	"errors"
	"time"
)

// processorTime returns [errors.ErrUnsupported].
func processorTime() (time.Duration, error) { return 0, errors.ErrUnsupported }
