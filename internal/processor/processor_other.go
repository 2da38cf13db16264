//go:build !unix

// Package processor tells how long this process has had a processor.
package processor

import (
	"errors"
	"time"
)

// Time returns [errors.ErrUnsupported].
func Time() (time.Duration, error) { return 0, errors.ErrUnsupported }
