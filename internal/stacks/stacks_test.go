package stacks

import (
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
	if n := Number(stack); n != "18" {
		t.Errorf("its number is %q", n)
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
	if !strings.Contains(all[0], "TestAll") {
		t.Errorf("the first is not the caller:\n%s", all[0])
	}
	if !strings.Contains(strings.Join(all[1:], "\n"), "TestAll") {
		t.Errorf("the stuck goroutine is missing:\n%s", strings.Join(all, "\n\n"))
	}
}

func stuck(stop chan struct{}) { <-stop }
