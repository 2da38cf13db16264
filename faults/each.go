package faults

import (
	"errors"
	"fmt"
)

// each strikes the parties in order. When one cannot be struck, those struck
// before are healed again, so that a fault happens to all or to none. The heal
// it returns undoes them in the same order and goes on past errors.
func each(names []string, strike func(name string) (heal func() error, err error)) (heal func() error, err error) {
	var heals []func() error
	undo := func() error {
		var errs []error
		for _, h := range heals {
			errs = append(errs, h())
		}
		return errors.Join(errs...)
	}
	for _, name := range names {
		h, err := strike(name)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", name, err), undo())
		}
		if h != nil {
			heals = append(heals, h)
		}
	}
	return undo, nil
}

// once is each for faults that do not last.
func once(names []string, strike func(name string) error) error {
	_, err := each(names, func(name string) (func() error, error) { return nil, strike(name) })
	return err
}
