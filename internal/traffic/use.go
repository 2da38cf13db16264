package traffic

// Use is a set of ways in which a link is used.
type Use uint8

const (
	SentUp   Use = 1 << iota // it carries something from the side that dialled, or the end of that stream
	SentDown                 // the same from the other side
	Accepted                 // a server has a request and is about to execute it
	Dialled                  // somebody connects, or wants to know whether the link is cut
	Broke                    // a connection breaks
)
