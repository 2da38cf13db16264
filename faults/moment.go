package faults

import (
	"strings"
	"sync"

	"github.com/holdfast-go/holdfast/internal/redis/resp"
)

// Moment is an event of a run to which a fault can be anchored. The world
// announces moments synchronously: the run waits until every fault of the moment
// has struck. So a hazard is certain instead of likely.
type Moment struct {
	Name   string // one of the Moment constants
	Client string // whose operation, connection or request
	Node   string // where, for moments of a request or a message

	// Op is the client's current operation: "acquire", "release", "inspect", "extend",
	// or "background" between operations, when it renews and subscribes.
	Op string
	// Command is the Redis command, upper case, for moments of a request.
	Command string
	// Changed says that the command changed a lock key.
	Changed bool
}

// The moments of a run.
const (
	// Invoked: the client is about to start Op.
	Invoked = "invoked"
	// Granted: an acquire returned with the lock, and was recorded.
	Granted = "granted"
	// Refused: an acquire returned without it.
	Refused = "refused"
	// Released: a release returned.
	Released = "released"
	// Writing: the client has finished its work in the critical section, and
	// still holds the lock by its last check. It is about to write the resource.
	Writing = "writing"
	// Received: a server has a request of the client and has not executed it.
	Received = "received"
	// Executed: a server executed a request and has not sent the reply.
	Executed = "executed"
	// Answered: the whole reply to a request has arrived, and the client has not read it.
	Answered = "answered"
	// Published: a server has a pub/sub message for the client, and has not sent it.
	Published = "published"
	// Delivered: a whole pub/sub message has arrived, and the client has not read it.
	Delivered = "delivered"
)

// Quiet reports whether a Redis command, upper case, is connection overhead.
// Worlds announce no moment for it, and no fault can be anchored to it.
func Quiet(command string) bool {
	switch command {
	case "HELLO", "CLIENT", "AUTH", "SELECT", "PING", "COMMAND", "CLUSTER", "READONLY", "ASKING":
		return true
	}
	return false
}

// Arrivals derives the moments [Answered] and [Delivered] from the bytes that
// reach a client over one connection. It is safe for concurrent use.
type Arrivals struct {
	mu     sync.Mutex
	asked  []string // commands whose reply has not arrived, in order
	frames resp.Splitter
}

// Asked records a command that the server is about to answer, upper case.
func (a *Arrivals) Asked(command string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = append(a.asked, command)
}

// Arrived returns the moments of the replies and messages that are now complete,
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
			// A server confirms a subscription to several channels once for each.
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

// confirms reports whether a frame confirms a subscription or its end.
func confirms(h resp.Head) bool { return strings.HasSuffix(h.First, "subscribe") }

// IsMessage reports whether a frame delivers a pub/sub message.
func IsMessage(frame []byte) bool {
	h, known := resp.ParseHead(frame)
	return known && (h.Kind == '*' || h.Kind == '>') &&
		(h.Len == 3 && (h.First == "message" || h.First == "smessage") || h.Len == 4 && h.First == "pmessage")
}
