package adapter

import (
	"testing"
	"time"
)

// The validity of a grant must not grow with the time that its reply was under way. A
// careful user would work on when it is over.
func TestValidityCountsFromTheRequest(t *testing.T) {
	sent := time.Now().Add(-10 * time.Second) // the reply was held up
	a := reply{ValidNS: int64(3 * time.Second), BeganNS: int64(time.Minute), EndedNS: int64(time.Minute + 2*time.Second), sent: sent}
	if got, want := a.until(), sent.Add(5*time.Second); !got.Equal(want) {
		t.Errorf("valid until %v after the request, want 5s", got.Sub(sent))
	}
	if got := (reply{}).until(); !got.IsZero() {
		t.Errorf("a grant that names no validity is valid until %v", got)
	}
	over := reply{ValidNS: -1, sent: sent}.until()
	if over.IsZero() || over.After(time.Now()) {
		t.Errorf("a validity that is over ends at %v", over)
	}
}
