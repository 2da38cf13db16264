package goroutines_test

import (
	"testing"

	"github.com/holdfast-go/holdfast/internal/goroutines"
)

// A mark is that of the goroutine that set it, and of those that this one starts. It ends
// for all of them at once.
func TestMark(t *testing.T) {
	inherited, after := make(chan string), make(chan string)
	ended := make(chan bool)
	unmark := goroutines.Mark("client-1/1")
	if got := goroutines.Marked(); got != "client-1/1" {
		t.Errorf("the mark is %q", got)
	}
	go func() {
		inherited <- goroutines.Marked()
		<-ended
		after <- goroutines.Marked()
	}()
	if got := <-inherited; got != "client-1/1" {
		t.Errorf("the mark of a goroutine that it started is %q", got)
	}
	unmark()
	close(ended)
	if got := <-after + goroutines.Marked(); got != "" {
		t.Errorf("after the end there is the mark %q", got)
	}
}
