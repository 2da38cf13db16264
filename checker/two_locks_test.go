package checker

import (
	"testing"

	"github.com/holdfast-go/holdfast/checker/history"
)

// Tokens of different locks have no order: a write under one lock makes no write
// under another one stale. Under the same lock it does.
func TestTokensAreComparedWithinALock(t *testing.T) {
	fenced := leased(func(h *history.Header) {
		h.Claims.Fencing = true
		h.Resource = &history.Resource{Initial: 1000, Fenced: true}
	})
	for other, want := range map[string]Outcome{"stock": Violated, "other": OutcomeOK} {
		h := story(t, fenced, `
			0   c1 acquire lease=5000; 1 ok count=1 token=7
			2   c1 read; 3 ok value=1000
			10  c1 write base=1000 value=999 token=7; 11 ok value=1000
			20  c2 acquire lease=5000; 21 ok count=1 token=3
			22  c2 read; 23 ok value=999
			30  c2 write base=999 value=998 token=3; 31 ok value=999
			40  c2 release; 41 ok
			50  c1 release; 51 ok`)
		for i := range h.Events {
			if e := &h.Events[i]; e.Owner == "client-2/1" {
				e.Lock = other
			}
		}
		r, err := Judge(h, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if v := r.Verdicts[ResourceSafe]; v.Outcome != want {
			t.Errorf("a write of the lock %q: %+v, want %s", other, v, want)
		}
	}
}
