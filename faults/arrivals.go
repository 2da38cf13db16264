package faults

import (
	"strings"
	"sync"

	"github.com/holdfast-go/holdfast/redis/resp"
)

// Arrivals tells the moments [Answered] and [Delivered] from the bytes that reach
// a client over one connection. It is safe for concurrent use.
type Arrivals struct {
	mu     sync.Mutex
	asked  []string // commands whose reply has not arrived, in order
	frames resp.Splitter
}

// Asked notes a command that the server is about to answer, upper case.
func (a *Arrivals) Asked(command string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = append(a.asked, command)
}

// Arrived returns the moments of the replies and messages that are complete now,
// in order, with their names and commands.
func (a *Arrivals) Arrived(b []byte) []Moment {
	a.mu.Lock()
	defer a.mu.Unlock()
	var moments []Moment
	for _, p := range a.frames.Split(b) {
		h, _ := resp.ParseHead(p.Data)
		switch {
		case IsMessage(p.Data):
			moments = append(moments, Moment{Name: Delivered})
		case len(a.asked) == 0:
		case confirms(h) && !strings.HasSuffix(a.asked[0], "SUBSCRIBE"):
			// A subscription to several channels is confirmed several times.
		case h.Kind == '>' && !confirms(h): // no reply
		default:
			if !Quiet(a.asked[0]) {
				moments = append(moments, Moment{Name: Answered, Command: a.asked[0]})
			}
			a.asked = a.asked[1:]
		}
	}
	return moments
}

// confirms says whether a frame answers a subscription, or the end of one.
func confirms(h resp.Head) bool { return strings.HasSuffix(h.First, "subscribe") }

// IsMessage says whether a frame delivers a pub/sub message.
func IsMessage(frame []byte) bool {
	h, known := resp.ParseHead(frame)
	return known && (h.Kind == '*' || h.Kind == '>') &&
		(h.Len == 3 && (h.First == "message" || h.First == "smessage") || h.Len == 4 && h.First == "pmessage")
}
