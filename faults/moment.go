package faults

// Moment is something that happens in a run and that a fault can be anchored
// to. The world announces moments synchronously: what happens next waits until
// every fault anchored to the moment has struck, and that is what makes a
// hazard certain instead of likely.
type Moment struct {
	Name   string // one of the Moment constants
	Client string // whose operation, connection or request
	Node   string // where, for moments of a request or a message

	// Op is the operation that the client is in: "acquire", "release",
	// "inspect", or "background" between operations, which is where renewals
	// and subscriptions happen.
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
	// Writing: the client has done its work in the critical section, has seen
	// that it still holds the lock, and is about to write the resource.
	Writing = "writing"
	// Received: a server has a request of the client and has not executed it.
	Received = "received"
	// Executed: a server executed a request and has not sent the reply.
	Executed = "executed"
	// Answered: the reply to a request has come all the way, and the client has
	// not read it.
	Answered = "answered"
	// Published: a server has a pub/sub message for the client, and has not sent
	// it.
	Published = "published"
	// Delivered: a pub/sub message has come all the way, and the client has not
	// read it.
	Delivered = "delivered"
)

// Quiet says that a Redis command, upper case, is a client's small talk: worlds
// announce no moment for it, and no fault is anchored to it.
func Quiet(command string) bool {
	switch command {
	case "HELLO", "CLIENT", "AUTH", "SELECT", "PING", "COMMAND", "CLUSTER", "READONLY":
		return true
	}
	return false
}
