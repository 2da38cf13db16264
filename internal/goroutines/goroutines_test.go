package goroutines

import (
	"slices"
	"strings"
	"testing"
)

// A leaked goroutine must have the same text in every process, or no two runs
// agree on it.
func TestPlain(t *testing.T) {
	const stack = "goroutine 18 [chan receive, 2 minutes]:\n" +
		"example.com/m.(*T).wait(0xc000012345, {0x1, 0x2})\n\t/home/me/m/t.go:12 +0x1b\n" +
		"created by example.com/m.Start in goroutine 7\n\t/home/me/m/t.go:5 +0x2c"
	const want = "goroutine [chan receive]\nexample.com/m.(*T).wait\n\tt.go:12\ncreated by example.com/m.Start\n\tt.go:5"
	if got := Plain(stack); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// The list contains a stuck goroutine, and begins with the caller.
func TestAll(t *testing.T) {
	stop := make(chan struct{})
	defer close(stop)
	begun := make(chan struct{})
	go func() {
		close(begun)
		stuck(stop)
	}()
	<-begun
	all := All()
	if !strings.Contains(all[0].Stack, "TestAll") {
		t.Errorf("the first is not the caller:\n%s", all[0].Stack)
	}
	if !slices.ContainsFunc(all[1:], func(g Goroutine) bool { return strings.Contains(g.Stack, "TestAll") }) {
		t.Errorf("the stuck goroutine is missing in %+v", all)
	}
}

func stuck(stop chan struct{}) { <-stop }

// A decision that reads the heading of a stack wrongly blames a lock for the wait of
// another goroutine.
func TestHeading(t *testing.T) {
	for heading, want := range map[string]Goroutine{
		"goroutine 18 [chan receive, 2 minutes]:":                       {Number: "18"},
		"goroutine 7 [select (durable), synctest bubble 6]:":            {Number: "7", Durable: true, Bubble: 6},
		"goroutine 9 [sync.Mutex.Lock, 3 minutes, synctest bubble 12]:": {Number: "9", Mutex: true, Bubble: 12},
	} {
		if got := parse(heading); got.Number != want.Number || got.Mutex != want.Mutex || got.Bubble != want.Bubble || got.Durable != want.Durable {
			t.Errorf("%s: got %+v, want %+v", heading, got, want)
		}
	}
}
