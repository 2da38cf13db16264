package servers

import (
	"errors"
	"testing"

	"github.com/holdfast-go/holdfast/internal/live/processes"
)

func TestMiniredisIsNotAskedForWhatItCannotCarry(t *testing.T) {
	b := Backend{Miniredis: []string{"/does/not/exist"}}
	for _, o := range []Options{
		{Groups: 1, Replicas: 1}, {Groups: 1, Replicas: 1, Sentinel: true}, {Groups: 3, Cluster: true},
		{Groups: 1, Persist: true}, {Groups: 1, Clocks: true},
	} {
		o.Backend, o.Dir = b, t.TempDir()
		if s, err := Start(t.Context(), o, nil); err == nil {
			s.Close()
			t.Errorf("%+v starts", o)
		}
	}
	if err := b.MovesClocks(); !errors.Is(err, processes.ErrUnavailable) {
		t.Errorf("its clock can be moved: %v", err)
	}
}

func TestWhatAMachineLacksIsSaidBeforeAnythingStarts(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if err := (Backend{}).Available(); !errors.Is(err, processes.ErrUnavailable) {
		t.Errorf("without a server on the PATH: %v", err)
	}
	if err := (Backend{}).MovesClocks(); !errors.Is(err, processes.ErrUnavailable) {
		t.Errorf("without a compiler on the PATH: %v", err)
	}
	if err := (Backend{Miniredis: []string{"/any"}}).Available(); processes.Supported() == nil && err != nil {
		t.Errorf("miniredis needs something of the PATH: %v", err)
	}
}
