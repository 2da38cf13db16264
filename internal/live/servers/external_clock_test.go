package servers

import (
	"testing"
	"time"
)

func TestTheTimesOfAServerWhoseClockIsWrong(t *testing.T) {
	srv := &Server{external: &place{ahead: time.Hour}}
	at := time.Now()
	if got := srv.TrueTime(srv.Shown(at), at.Add(time.Second)); got.Sub(at).Abs() > time.Microsecond {
		t.Errorf("%s is taken for %s", at, got)
	}
}
