package locktest

import (
	"testing"

	"github.com/holdfast-go/holdfast/internal/search"
	"github.com/holdfast-go/holdfast/internal/search/exhaustive"
)

// The user must see the sentence that names the mistake, even if the worst property says
// it less plainly. A fault that struck later is no cause, and the text does not name it
// as one.
func TestTellPlaced(t *testing.T) {
	for _, tt := range []struct {
		name string
		c    exhaustive.Cause
		want string
	}{
		{
			"after a fault",
			exhaustive.Cause{Find: search.Find{Cause: search.Cause{Property: "linearizable", Faults: []string{"pause"}}, Count: 7}, Reason: "no order allows that", First: "a-8", N: 7, When: "pause of client-1 before the first write",
				Also: []exhaustive.Also{{Property: "ownership", Reason: "client-1 deleted the hold of client-2"}}},
			"linearizable after pause: no order allows that\nalso:   ownership: client-1 deleted the hold of client-2\n" +
				"runs:   7, the first is a-8: pause of client-1 before the first write",
		},
		{
			"before the fault",
			exhaustive.Cause{Find: search.Find{Cause: search.Cause{Property: "linearizable"}, Count: 1}, Reason: "no order allows that", First: "a-8", N: 7, When: "crash of client-1 before the 2nd release"},
			"linearizable, not after the fault: no order allows that\n" +
				"runs:   1, the first is a-8, whose fault struck at that moment or later: crash of client-1 before the 2nd release",
		},
		{
			"after the close, before the fault",
			exhaustive.Cause{Find: search.Find{Cause: search.Cause{Property: "renewal", Faults: []string{"close"}}, Count: 1}, Reason: "it renewed", First: "a-8", N: 7, When: "crash of client-1 before the 2nd release"},
			"renewal after close: it renewed\nruns:   1, the first is a-8, whose fault struck at that moment or later: crash of client-1 before the 2nd release",
		},
		{
			"without a fault",
			exhaustive.Cause{Find: search.Find{Cause: search.Cause{Property: "renewal", Faults: []string{"close"}}, Count: 150}, Reason: "it renewed", First: "closed", N: -1},
			"without any fault: renewal: it renewed\nruns:   150, with a fault or without; the first is closed, which has none",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tellPlaced(tt.c); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}
