package servers

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
)

// What a foreign server is ordered to do.
const (
	doStart   = "start"
	doStatus  = "status"
	doLead    = "lead"
	doPromote = "promote"
	doFollow  = "follow"
	doKeys    = "keys"
	doDelete  = "delete"
)

// order is a line to a foreign server.
type order struct {
	ID     int       `json:"id"`
	Do     string    `json:"do"`
	Server *settings `json:"server,omitempty"` // start
	To     string    `json:"to,omitempty"`     // lead, follow
	Lock   string    `json:"lock,omitempty"`   // delete
}

// settings say who a foreign server is.
type settings struct {
	Name     string            `json:"name"`
	Data     string            `json:"data"`
	Client   string            `json:"client"`
	Peer     string            `json:"peer"`
	Members  map[string]string `json:"members"`
	Peer2    string            `json:"peer2,omitempty"`    // with two peers
	Members2 map[string]string `json:"members2,omitempty"` // the same
	Lead     string            `json:"lead,omitempty"`     // who leads, where it is promoted by name
}

// answer is the line that answers an order.
type answer struct {
	ID    int    `json:"id"`
	OK    bool   `json:"ok"`
	Error string `json:"error"`
	Lead  string `json:"lead"` // status: who leads
	Term  int    `json:"term"` // and since which election
	// Follows, of a status: it follows a leader, and cannot name it.
	Follows bool     `json:"follows"`
	Keys    []string `json:"keys"`
}

// bundledControl is the conversation with a bundled server, over its standard
// input and output. One order is open at a time.
type bundledControl struct {
	in      io.WriteCloser
	answers chan answer
	broken  chan struct{} // closed when no answer comes any more
	err     error         // why; set before

	asking chan struct{} // holds a token while nobody asks
	last   int
	ending sync.Once
	over   chan struct{} // closed when nobody wants answers any more
}

// newBundledControl makes the pipes of a process that is to be started.
func newBundledControl(cmd *exec.Cmd) (*bundledControl, error) {
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	o := &bundledControl{in: in, answers: make(chan answer), broken: make(chan struct{}), asking: make(chan struct{}, 1), over: make(chan struct{})}
	o.asking <- struct{}{}
	go o.read(out)
	return o, nil
}

// maxAnswer is the longest line, in bytes.
const maxAnswer = 1 << 20

func (o *bundledControl) read(out io.Reader) {
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, maxAnswer)
	err := errGone
	for lines.Scan() {
		var a answer
		if err = json.Unmarshal(lines.Bytes(), &a); err != nil {
			err = fmt.Errorf("%w: it wrote what is no answer: %w", errGone, err)
			break
		}
		err = errGone
		select {
		case o.answers <- a:
		case <-o.over:
		}
	}
	o.err = err
	close(o.broken)
}

// ask gives an order and waits for its answer.
func (o *bundledControl) ask(ctx context.Context, r order) (answer, error) {
	select {
	case <-o.asking:
	case <-ctx.Done():
		return answer{}, ctx.Err()
	}
	defer func() { o.asking <- struct{}{} }()
	o.last++
	r.ID = o.last
	line, err := json.Marshal(r)
	if err != nil {
		return answer{}, err
	}
	if _, err := o.in.Write(append(line, '\n')); err != nil {
		return answer{}, fmt.Errorf("%w: %w", errGone, err)
	}
	for {
		select {
		case a := <-o.answers:
			if a.ID != r.ID { // of one that was not waited for
				continue
			}
			if !a.OK {
				return a, errors.New(a.Error)
			}
			return a, nil
		case <-o.broken:
			return answer{}, o.err
		case <-ctx.Done():
			return answer{}, fmt.Errorf("%s: %w", r.Do, ctx.Err())
		}
	}
}

// end stops the reader.
func (o *bundledControl) end() {
	if o != nil {
		o.ending.Do(func() { close(o.over) })
	}
}
