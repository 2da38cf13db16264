// Package bundled is the protocol between the harness and the servers that a lock
// brings along. The harness writes orders to a server's standard input, and the
// server answers each on its standard output: a JSON object on a line.
// docs/adapter-protocol.md describes the protocol for servers in other languages.
//
// A program in Go implements [Electing] or [Promoted] and calls [Main].
package bundled

// The orders of the harness; see Server, Electing and Promoted.
const (
	Start   = "start"
	Status  = "status"
	Lead    = "lead"
	Promote = "promote"
	Follow  = "follow"
	Keys    = "keys"
	Delete  = "delete"
)

// Order is a line that a server reads.
type Order struct {
	ID     int       `json:"id"`
	Do     string    `json:"do"`
	Server *Settings `json:"server,omitempty"` // of Start
	To     string    `json:"to,omitempty"`     // of Lead and Follow: a member
	Lock   string    `json:"lock,omitempty"`   // of Delete
}

// Settings name a server and its addresses. All addresses but Client, Peer and
// Peer2 are proxies of the harness: a server connects to no other.
type Settings struct {
	Name    string            `json:"name"`
	Data    string            `json:"data"`    // the directory that outlives a restart
	Client  string            `json:"client"`  // where the server listens to clients
	Peer    string            `json:"peer"`    // where it listens to other members
	Members map[string]string `json:"members"` // where members reach each other, by name

	// Peer2 and Members2 are the second addresses of members with two peers.
	Peer2    string            `json:"peer2,omitempty"`
	Members2 map[string]string `json:"members2,omitempty"`

	// Leader is the member that leads, where members are promoted by name.
	Leader string `json:"lead,omitempty"`
}

// Answer is the line that answers an order.
type Answer struct {
	ID    int    `json:"id"`
	OK    bool   `json:"ok,omitempty"`
	Error string `json:"error,omitempty"`
	Leadership
	Keys []string `json:"keys,omitempty"` // of Keys
}

// Leadership is the view that a member has of its leader.
type Leadership struct {
	// Leader is empty when the member has none, or cannot name it.
	Leader string `json:"lead,omitempty"`
	// Follows says that the member follows a leader that it cannot name.
	Follows bool `json:"follows,omitempty"`
	// Term grows with each election.
	Term int `json:"term,omitempty"`
}
