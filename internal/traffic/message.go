// Package traffic describes what passes between the parties of a simulated world, and what
// its servers and links have at one moment.
package traffic

import (
	"cmp"
	"strings"
	"time"
)

// Message is one message between two parties of a world, or an event of a
// connection, with its fate.
type Message struct {
	Sent     time.Time `json:"sent"`
	From     string    `json:"from"`
	To       string    `json:"to"`
	Conn     int       `json:"conn"`               // which connection of the one who dialled to the other, from 1
	Upstream bool      `json:"upstream,omitempty"` // sent by the side that dialled
	N        int       `json:"n"`                  // which one in this direction of the connection, from 1
	Kind     string    `json:"kind"`               // one of the constants below
	Text     string    `json:"text,omitempty"`     // what it says, in short

	// Fate is one of the constants below, and Ended when that was. While the
	// message is on its way, and when the world ends before it arrives, Fate
	// is "" and Ended is zero.
	Fate  string    `json:"fate,omitempty"`
	Ended time.Time `json:"ended,omitzero"`

	// Paused says that the sender was paused: the message left when it resumed.
	Paused bool `json:"paused,omitempty"`
	// Toxics are those that it had to go through.
	Toxics []Hindrance `json:"toxics,omitempty"`
}

// Hindrance is a toxic that delayed a message.
type Hindrance struct {
	Toxic string    `json:"toxic"` // "Hold", "Delay"
	Since time.Time `json:"since"` // when its link got it
}

// The kinds of message, and of what happens to a connection.
const (
	Request = "request" // a Redis command
	Reply   = "reply"   // the answer to one
	Push    = "push"    // a pub/sub delivery
	Effect  = "effect"  // a change on its way to a replica
	Ack     = "ack"     // a replica confirms effects

	Opened  = "opened"  // the connection is there
	Refused = "refused" // there is no server at the other end
	Closed  = "closed"  // From closed it
	Broken  = "reset"   // it broke at both ends at once
)

// The fates of a message.
const (
	Arrived = "arrived"
	Dropped = "dropped" // by the last of its toxics
	Lost    = "lost"    // the connection broke
	Unread  = "unread"  // the receiver had closed the connection
)

// ByTime orders messages by send time. Those of one instant have an order that
// does not depend on the order of reports.
func ByTime(a, b Message) int {
	up := 0
	if a.Upstream != b.Upstream { // both ways between two servers
		up = 1
		if a.Upstream {
			up = -1
		}
	}
	return cmp.Or(a.Sent.Compare(b.Sent), strings.Compare(a.From, b.From), strings.Compare(a.To, b.To), a.Conn-b.Conn, up, a.N-b.N)
}
