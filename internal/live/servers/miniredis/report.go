package miniredis

import (
	"encoding/gob"
	"net"
	"time"

	"github.com/holdfast-go/holdfast/internal/redis/keyspace"
)

// Commands that a Redis does not have.
const (
	// TellCommand makes a connection one that gets reports. From then on it carries gob,
	// a [Report] for every request of any connection, and for every key that runs out, in
	// order of execution. The first one is of what the server holds. Nothing but
	// [MarkCommand] may be sent over it any more.
	TellCommand = "HOLDFAST.TELL"
	// MarkCommand has one argument, which all such connections get as a report.
	MarkCommand = "HOLDFAST.MARK"
)

// Report is one message of a server. It is gob, because JSON cannot represent
// every value of a key.
type Report struct {
	At      time.Time     // when, by the machine's clock
	Holds   keyspace.Data // in the first one: every key
	From    string        // the address a request came from; "" when keys have run out
	Command string        // in upper case
	// Changes have a Key, a Cause, which is "command" or "expiry", Before,
	// After, At and Now.
	Changes []keyspace.Change
	Mark    string
	Wrong   string // why some key cannot be followed
}

// patience is the time that such a connection may take to read a report. The server
// waits, so that no client sees anything before its report.
const patience = 10 * time.Second

// begin tells a connection what the server holds, and from now on of every
// request. Called with exec held.
func (s *server) begin(c net.Conn, now time.Time) {
	s.told[c] = gob.NewEncoder(c)
	s.send(c, Report{At: now, Holds: s.data})
}

// tell sends a report to all that asked for them. Called with exec held.
func (s *server) tell(r Report) {
	for c := range s.told { // each gets the same: order does not matter
		s.send(c, r)
	}
}

// send breaks a connection that does not take the report.
func (s *server) send(c net.Conn, r Report) {
	c.SetWriteDeadline(time.Now().Add(patience))
	if err := s.told[c].Encode(r); err != nil {
		c.Close()
		delete(s.told, c)
	}
}
