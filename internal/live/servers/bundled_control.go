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

	"github.com/holdfast-go/holdfast/internal/adapter/bundled"
)

// bundledControl is the conversation with a bundled server, over its standard
// input and output. One order is open at a time.
type bundledControl struct {
	in      io.WriteCloser
	answers chan bundled.Answer
	broken  chan struct{} // closed when no answer comes any more
	err     error         // why; set before

	asking chan struct{} // holds a token while no caller asks
	last   int
	ending sync.Once
	over   chan struct{} // closed when no caller wants answers any more
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
	o := &bundledControl{in: in, answers: make(chan bundled.Answer), broken: make(chan struct{}), asking: make(chan struct{}, 1), over: make(chan struct{})}
	o.asking <- struct{}{}
	go o.read(out)
	return o, nil
}

// maxAnswer is the longest line, in bytes.
const maxAnswer = 1 << 20

func (o *bundledControl) read(out io.Reader) {
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, maxAnswer)
	o.err = errGone
	for lines.Scan() {
		var a bundled.Answer
		if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
			o.err = fmt.Errorf("%w: it wrote what is no answer: %w", errGone, err)
			break
		}
		select {
		case o.answers <- a:
		case <-o.over:
		}
	}
	close(o.broken)
}

func (o *bundledControl) ask(ctx context.Context, r bundled.Order) (bundled.Answer, error) {
	select {
	case <-o.asking:
	case <-ctx.Done():
		return bundled.Answer{}, ctx.Err()
	}
	defer func() { o.asking <- struct{}{} }()
	o.last++
	r.ID = o.last
	line, err := json.Marshal(r)
	if err != nil {
		return bundled.Answer{}, err
	}
	if _, err := o.in.Write(append(line, '\n')); err != nil {
		return bundled.Answer{}, fmt.Errorf("%w: %w", errGone, err)
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
			return bundled.Answer{}, o.err
		case <-ctx.Done():
			return bundled.Answer{}, fmt.Errorf("%s: %w", r.Do, ctx.Err())
		}
	}
}

func (o *bundledControl) end() {
	if o != nil {
		o.ending.Do(func() { close(o.over) })
	}
}
