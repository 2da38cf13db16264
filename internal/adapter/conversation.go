package adapter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// Conversation is the harness's side: what it can ask of a client process. Its
// methods are safe for concurrent use. Every open and every later call fails
// when the conversation has ended, see [Conversation.Err]; none waits for more
// than its context or, where its outcome matters, the end of the process.
type Conversation struct {
	name  string // of the process, for errors
	in    io.WriteCloser
	out   io.ReadCloser
	box   *outbox
	ended chan struct{}

	mu   sync.Mutex
	err  error
	last int64 // id of a request
	open map[int64]*call
	// operations are those for an owner that somebody awaits.
	operations map[int64]*call
	owners     map[[2]string]*holds
}

// call is a request under way.
type call struct {
	request
	sent  time.Time
	owner *holds     // whom it is for, nil for none
	done  chan reply // has room for the reply

	// Of an operation: the caller's context, and what is closed when the process has
	// learned of its end, or the operation is over.
	ctx  context.Context
	told chan struct{}
}

// New begins a conversation with a process called name, over the pipes of its
// standard input and output. Nothing is said yet. The conversation closes
// both pipes when it ends.
func New(name string, in io.WriteCloser, out io.ReadCloser) *Conversation {
	c := &Conversation{
		name: name, in: in, out: out, box: newOutbox(), ended: make(chan struct{}),
		open: map[int64]*call{}, operations: map[int64]*call{}, owners: map[[2]string]*holds{},
	}
	go c.write()
	go c.read()
	return c
}

// Hello greets the process and returns when its lock is open. It must come
// first, and once.
func (c *Conversation) Hello(ctx context.Context, h Hello) (Ready, error) {
	h.Protocol = Protocol
	a, err := c.ask(ctx, request{Do: doHello, Hello: &h})
	if err != nil {
		return Ready{}, err
	}
	if a.Protocol != Protocol {
		err := &ProtocolError{Line: a.Protocol, Err: errors.New("it is of another version")}
		c.End(err)
		return Ready{}, c.wrap(err)
	}
	return a.Ready, nil
}

// Describe asks the process for the locks that it has. It comes before Hello, or
// in its place.
func (c *Conversation) Describe(ctx context.Context) ([]locks.Description, error) {
	a, err := c.ask(ctx, request{Do: doDescribe})
	if err != nil {
		return nil, err
	}
	if len(a.Locks) == 0 {
		return nil, c.wrap(errors.New("it describes no lock"))
	}
	for i, d := range a.Locks {
		if err := d.Check(); err != nil {
			return nil, c.wrap(err)
		}
		if slices.ContainsFunc(a.Locks[:i], func(e locks.Description) bool { return e.Name == d.Name }) {
			return nil, c.wrap(fmt.Errorf("it describes %q twice", d.Name))
		}
	}
	return a.Locks, nil
}

// Identity is the value that the lock stores on servers for a thread, "" where the
// process has none.
func (c *Conversation) Identity(ctx context.Context, thread string) (string, error) {
	a, err := c.ask(ctx, request{Do: doIdentity, Thread: thread})
	return a.Identity, err
}

// CloseLock closes the lock as its users would, perhaps in the middle of work.
func (c *Conversation) CloseLock(ctx context.Context) error {
	_, err := c.ask(ctx, request{Do: doClose})
	return err
}

// Shutdown releases all holds of the process and closes the lock, with the error of
// a release. It is errors.ErrUnsupported where the lock cannot do that.
func (c *Conversation) Shutdown(ctx context.Context) error {
	_, err := c.operate(ctx, request{Do: doShutdown}, nil)
	return err
}

// Finish closes the lock, unless that was done, and its connections. It returns the
// stacks of the goroutines, or of what else the process calls its threads, that should
// have ended by then. The process lives on.
func (c *Conversation) Finish(ctx context.Context) (goroutines []string, err error) {
	a, err := c.ask(ctx, request{Do: doFinish})
	return a.Goroutines, err
}

// Stop tells the process to exit. It returns when the process has agreed.
func (c *Conversation) Stop(ctx context.Context) error {
	_, err := c.ask(ctx, request{Do: doStop})
	return err
}

func (c *Conversation) Ended() <-chan struct{} { return c.ended }

// Err is the reason for the end of the conversation: [ErrEnded], a [ProtocolError], or
// the error given to End. It is nil before that.
func (c *Conversation) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// End ends the conversation, for a reason which must not be nil: open and later
// calls fail with it. It does nothing when the conversation has ended.
func (c *Conversation) End(reason error) {
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return
	}
	c.err = reason
	close(c.ended)
	c.mu.Unlock()
	c.box.close()
	// An error of a pipe that does not close has no reader.
	_ = c.in.Close()
	_ = c.out.Close()
}

func (c *Conversation) wrap(err error) error { return fmt.Errorf("%s: %w", c.name, err) }

// send sends a request; the conversation must not have ended.
func (c *Conversation) send(r request, owner *holds) (*call, error) {
	return c.sendLine(r, owner, func(id int64) ([]byte, error) {
		r.ID = id
		return json.Marshal(r)
	})
}

func (c *Conversation) sendLine(r request, owner *holds, encode func(id int64) ([]byte, error)) (*call, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return nil, c.wrap(c.err)
	}
	c.last++
	r.ID = c.last
	line, err := encode(r.ID)
	if err != nil {
		return nil, c.wrap(fmt.Errorf("encode a request: %w", err))
	}
	k := &call{request: r, sent: time.Now(), owner: owner, done: make(chan reply, 1)}
	c.open[r.ID] = k
	c.box.put(append(line, '\n'))
	return k, nil
}

// AwaitCancels waits for every operation under way whose context has ended. It returns
// when the process has learned of that, and has ended its own context for it.
func (c *Conversation) AwaitCancels(ctx context.Context) error {
	c.mu.Lock()
	var ended []*call
	for _, k := range c.operations {
		if k.ctx.Err() != nil {
			ended = append(ended, k)
		}
	}
	c.mu.Unlock()
	for _, k := range ended {
		select {
		case <-k.told:
		case <-c.ended:
			return c.wrap(c.Err())
		case <-ctx.Done():
			return c.wrap(fmt.Errorf("await the end of a cancelled %s: %w", k.Do, ctx.Err()))
		}
	}
	return nil
}

// ask sends a request and awaits the reply, but not for longer than ctx.
func (c *Conversation) ask(ctx context.Context, r request) (reply, error) {
	k, err := c.send(r, nil)
	if err != nil {
		return reply{}, err
	}
	return c.await(ctx, k)
}

// await awaits the reply to a request, but not for longer than ctx.
func (c *Conversation) await(ctx context.Context, k *call) (reply, error) {
	select {
	case a := <-k.done:
		return outcome(ctx, a)
	case <-ctx.Done():
		return reply{}, c.wrap(fmt.Errorf("await the answer to %s: %w", k.Do, ctx.Err()))
	case <-c.ended:
		return c.lastWords(ctx, k)
	}
}

// operate sends a request for an owner and awaits the reply. When ctx ends the process
// gets a cancel request, and its answer is still awaited: only the process can say what
// has happened.
func (c *Conversation) operate(ctx context.Context, r request, owner *holds) (reply, error) {
	r.Canceled = ctx.Err() != nil
	k, err := c.send(r, owner)
	if err != nil {
		return reply{}, err
	}
	told := c.operating(ctx, k)
	defer told()
	interrupted := ctx.Done()
	if r.Canceled {
		interrupted = nil
		told()
	}
	var heard chan reply // that it is cancelled
	for {
		select {
		case a := <-k.done:
			return outcome(ctx, a)
		case <-interrupted:
			interrupted = nil
			cancel, err := c.send(request{Do: doCancel, Of: k.ID}, nil)
			if err != nil {
				return c.lastWords(ctx, k)
			}
			heard = cancel.done
		case <-heard:
			heard = nil
			told()
		case <-c.ended:
			return c.lastWords(ctx, k)
		}
	}
}

// operating makes a call one that [Conversation.AwaitCancels] looks at, until the
// function that it returns is called.
func (c *Conversation) operating(ctx context.Context, k *call) (told func()) {
	k.ctx, k.told = ctx, make(chan struct{})
	c.mu.Lock()
	c.operations[k.ID] = k
	c.mu.Unlock()
	return sync.OnceFunc(func() {
		c.mu.Lock()
		delete(c.operations, k.ID)
		c.mu.Unlock()
		close(k.told)
	})
}

// lastWords is the outcome of a call when the conversation has ended: the
// reply, if there was one before the end.
func (c *Conversation) lastWords(ctx context.Context, k *call) (reply, error) {
	select {
	case a := <-k.done:
		return outcome(ctx, a)
	default:
	}
	err := c.Err()
	if k.owner != nil {
		err = fmt.Errorf("%w: %w", lock.ErrUnknown, err)
	}
	return reply{}, c.wrap(fmt.Errorf("%s: %w", k.Do, err))
}

func outcome(ctx context.Context, a reply) (reply, error) {
	if a.OK {
		return a, nil
	}
	return a, &Error{Classes: a.Errors, Message: a.Message, ended: ctx.Err()}
}

// write hands requests to the process as it takes them.
func (c *Conversation) write() {
	for {
		line, ok := c.box.take()
		if !ok {
			return
		}
		if _, err := c.in.Write(line); err != nil {
			c.drain(err)
			return
		}
	}
}

// drainTime is the time that reading may take after a process closed its input.
const drainTime = time.Second

// drain ends the conversation when its input is broken. The last messages of the process
// tell more than that, so it reads them first.
func (c *Conversation) drain(err error) {
	t := time.NewTimer(drainTime)
	defer t.Stop()
	select {
	case <-c.ended:
	case <-t.C:
		c.End(fmt.Errorf("write a request: %w", err))
	}
}

// read takes what the process says. It never waits for anybody else.
func (c *Conversation) read() {
	in := newLines(c.out)
	for {
		line, err := in.next()
		switch {
		case errors.Is(err, errTooLong), errors.Is(err, io.ErrUnexpectedEOF):
			c.End(&ProtocolError{Line: string(line), Err: err})
			return
		case errors.Is(err, io.EOF):
			c.End(ErrEnded)
			return
		case err != nil:
			c.End(errors.Join(ErrEnded, err))
			return
		}
		m, err := decode(line)
		if err == nil {
			err = c.deliver(m)
		}
		if err != nil {
			c.End(&ProtocolError{Line: string(line), Err: err})
			return
		}
	}
}

// deliver takes note of what a message says of holds, and hands a reply to
// whom it is for. An error means that the message fits nothing that was asked.
func (c *Conversation) deliver(m message) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if m.Event != "" {
		h := c.owners[[2]string{m.Lock, m.Thread}]
		if h == nil || m.Hold > c.last {
			return errors.New("no owner has that hold")
		}
		h.lose(m.Hold)
		return nil
	}
	k := c.open[m.ID]
	if k == nil {
		return fmt.Errorf("no request %d is open", m.ID)
	}
	delete(c.open, m.ID)
	if k.owner != nil {
		if err := k.owner.learn(k.request, m.reply); err != nil {
			return err
		}
	}
	m.sent = k.sent
	k.done <- m.reply
	return nil
}
