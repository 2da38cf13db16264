package proxy

import (
	"bytes"
	"errors"
	"strings"
	"sync"

	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/internal/redis/resp"
)

// Moments are the callbacks of a world's taps for requests and replies.
type Moments struct {
	Announce func(faults.Moment)
	Op       func(client string) string            // the operation that a client is in
	Changed  func(node, from, command string) bool // may be nil
}

// tap listens to one connection of a client to a node, on the node's side of the
// proxy. It announces requests after the toxics and before the node, and replies
// after the node and before the toxics. Both wait for the handler.
//
//	client -> toxics -> Write: received -> node -> Read: executed -> toxics -> arriving: answered -> client
//	                                       node -> Read: published -> toxics -> arriving: delivered -> client
type tap struct {
	link     faults.Link
	moments  *Moments
	running  func() <-chan struct{} // see Link.Tap
	killed   func() bool            // see Link.Tap
	process  <-chan struct{}        // what it returned when the connection was opened
	conn     *end
	from     string                 // where the node sees the connection come from
	withheld func() <-chan struct{} // what withholds the request that has arrived, or nil
	abort    func()                 // breaks both ends of the connection

	seen faults.Arrivals // what reaches the client

	mu        sync.Mutex
	awaiting  []request // sent and not answered, in order
	deaf      bool      // it has subscribed: what the node sends is messages, and answers no request
	receiving bool      // a request counts as received and is not sent
	abandoned bool      // the client's end broke meanwhile

	requests resp.Splitter // used by Write
	replies  resp.Splitter // and this and what follows by Read
	frames   []resp.Piece  // that have arrived
	out      []byte        // announced, to be read
	ended    error         // what ended the connection
}

// request is a command without a reply so far.
type request struct {
	command string
	// confirmed is the start of the push that answers it, which is no reply.
	confirmed bool
}

// errAbandoned ends the requests of a client whose end broke.
var errAbandoned = errors.New("the connection broke while a request was received")

// errLost ends a connection whose node died after it had executed a request.
var errLost = errors.New("the server died before its reply was sent")

// Write forwards requests to the node, complete and one by one.
func (t *tap) Write(b []byte) (int, error) {
	for _, p := range t.requests.Split(b) {
		if t.outlived() {
			return 0, errLost
		}
		abandoned := t.received(command(p.Data))
		_, err := t.conn.Write(p.Data)
		if abandoned && err == nil {
			err = errors.Join(errAbandoned, t.conn.CloseWrite())
		}
		if err != nil {
			return 0, err
		}
	}
	return len(b), nil
}

// outlived waits for the end of a process that is being killed, and reports whether it
// was. A killed process is dead at once for its clients, and takes a moment longer.
func (t *tap) outlived() bool {
	if !t.killed() {
		return false
	}
	<-t.process
	return true
}

// abandon reports whether the node's end must outlive the client's, because a
// request that is not sent yet counts as received.
func (t *tap) abandon() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.abandoned = t.receiving
	return t.receiving
}

// Close sends the rest of an unfinished request, and closes the connection. Read
// closes an abandoned one after its last reply.
func (t *tap) Close() error {
	t.mu.Lock()
	abandoned := t.abandoned
	t.mu.Unlock()
	if abandoned {
		return nil
	}
	_, err := t.conn.Write(t.requests.Rest())
	return errors.Join(err, t.conn.Close())
}

// received announces a request, also one of a connection that has subscribed: a
// client may keep that connection for its next subscription. abandoned means that
// it is the last one.
func (t *tap) received(command string) (abandoned bool) {
	subscribes := strings.HasSuffix(command, "SUBSCRIBE")
	t.mu.Lock()
	if !t.deaf {
		t.awaiting = append(t.awaiting, request{command, subscribes})
	}
	t.deaf, t.receiving = t.deaf || subscribes, true
	t.mu.Unlock()
	if !faults.Quiet(command) {
		t.announce(faults.Moment{Name: faults.Received, Command: command})
		if withheld := t.withheld(); withheld != nil {
			<-withheld
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.receiving = false
	return t.abandoned
}

// Read forwards the data of the node, one reply at a time.
func (t *tap) Read(b []byte) (int, error) {
	for len(t.out) == 0 {
		switch {
		case len(t.frames) > 0:
			if t.outlived() {
				return 0, errLost
			}
			t.out, t.frames = t.frames[0].Data, t.frames[1:]
			t.executed(t.out)
			if t.process != t.running() {
				return 0, errLost
			}
		case t.ended != nil:
			t.conn.Close() // at the latest
			return 0, t.ended
		default:
			n, err := t.conn.Read(b)
			t.frames, t.ended = t.replies.Split(b[:n]), err // half a reply is no use to anybody
		}
	}
	n := copy(b, t.out)
	t.out = t.out[n:]
	return n, nil
}

// executed announces the answered request of a frame, or its message.
func (t *tap) executed(frame []byte) {
	if faults.IsMessage(frame) {
		t.announce(faults.Moment{Name: faults.Published})
		return
	}
	t.mu.Lock()
	if len(t.awaiting) == 0 || frame[0] == '>' && !(t.awaiting[0].confirmed && confirms(frame)) {
		t.mu.Unlock()
		return
	}
	command := t.awaiting[0].command
	t.awaiting = t.awaiting[1:]
	t.mu.Unlock()
	t.seen.Asked(command)
	if faults.Quiet(command) {
		return
	}
	told := make(chan struct{})
	defer close(told)
	go t.breakWithNode(told)
	changed := t.moments.Changed != nil && t.moments.Changed(t.link.To, t.from, command)
	t.announce(faults.Moment{Name: faults.Executed, Command: command, Changed: changed})
}

// breakWithNode breaks the connection as soon as the node dies, while Read, which
// would notice, waits for the handler.
func (t *tap) breakWithNode(told <-chan struct{}) {
	select {
	case <-t.process:
		t.abort()
	case <-told:
	}
}

func (t *tap) announce(m faults.Moment) {
	if faults.Quiet(m.Command) {
		return
	}
	m.Client, m.Node, m.Op = t.link.From, t.link.To, t.moments.Op(t.link.From)
	t.moments.Announce(m)
}

// arriving announces data before it reaches the client.
type arriving struct {
	*tap
	to *end
}

func (a arriving) Write(b []byte) (int, error) {
	for _, m := range a.seen.Arrived(b) {
		a.announce(m)
	}
	return a.to.Write(b)
}

func (a arriving) Close() error { return a.to.Close() }

// confirms reports whether a push, ">3 $9 subscribe", answers a subscription.
func confirms(push []byte) bool {
	h, _ := resp.ParseHead(push)
	return strings.HasSuffix(h.First, "subscribe")
}

// command is the name of the command that a frame requests, upper case.
func command(frame []byte) string {
	h, _ := resp.ParseHead(frame)
	if h.Kind != '*' { // as people type it
		h.First, _, _ = strings.Cut(string(bytes.TrimSpace(frame)), " ")
	}
	return strings.ToUpper(h.First)
}
