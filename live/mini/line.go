package mini

import (
	"encoding/json"
	"net"
	"time"

	"github.com/holdfast-go/holdfast/sim/keyspace"
)

// Commands that a Redis does not have.
const (
	// TellCommand makes a connection one that is told: from then on it gets a
	// [Line] of JSON for every request of any connection, and for every key
	// that runs out, in order of execution. The first line is what the server
	// holds. Nothing but [MarkCommand] may be sent over it any more.
	TellCommand = "HOLDFAST.TELL"
	// MarkCommand has one argument, which all that are told get as a line.
	MarkCommand = "HOLDFAST.MARK"
)

// Line is what a server tells.
type Line struct {
	At      time.Time         `json:"at"`              // when, by the machine's clock
	Holds   keyspace.Data     `json:"holds,omitempty"` // the first line: every key
	From    string            `json:"from,omitempty"`  // the address a request came from; empty when keys have run out
	Command string            `json:"command,omitempty"`
	Changes []keyspace.Change `json:"changes,omitempty"` // with Key, Cause "command" or "expiry", Before, After, At and Now
	Mark    string            `json:"mark,omitempty"`
	Wrong   string            `json:"wrong,omitempty"` // why some key cannot be followed
}

// patience is how long somebody who is told may take to read a line. The
// server waits, so that nobody sees what was not told.
const patience = 10 * time.Second

// begin tells a connection what the server holds, and from now on of every
// request. Called with exec held.
func (s *server) begin(c net.Conn, now time.Time) {
	s.told[c] = true
	s.send(c, Line{At: now, Holds: s.data})
}

// tell tells everybody who wants to know. Called with exec held.
func (s *server) tell(l Line) {
	for c := range s.told { // each gets the same: order does not matter
		s.send(c, l)
	}
}

// send breaks a connection that does not take the line.
func (s *server) send(c net.Conn, l Line) {
	b, err := json.Marshal(l)
	if err == nil {
		c.SetWriteDeadline(time.Now().Add(patience))
		_, err = c.Write(append(b, '\n'))
	}
	if err != nil {
		c.Close()
		delete(s.told, c)
	}
}
