package adapter

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/input"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// Lock is a lock under test in a client process.
type Lock interface {
	// Locker is one owner's view of one lock; a thread is an owner. It is
	// called once for each.
	Locker(name, thread string) (lock.Locker, error)
	// Identity is the value that the lock stores on servers for a thread, "" where that
	// is unknown.
	Identity(thread string) string
	// Close closes the lock as its users would, which may be in the middle of
	// their work. It is called at most once.
	Close() error
	// Disconnect closes the connections to the servers. It is called at most
	// once, after Close.
	Disconnect() error
}

// Described is implemented by a [Lock] that says what it is.
type Described interface {
	Describe() (name, version string)
}

// Program is a client process: its locks, and a function to open one.
type Program struct {
	// Locks are those that the process describes; a harness that has them already does
	// not ask.
	Locks []locks.Description
	// Open opens the lock that a hello names.
	Open func(Hello) (Lock, error)
}

// Serve plays a client process. It opens the lock that the harness names and uses it as
// requested. It returns nil when the harness stops it, and also returns when in or ctx
// ends. When it returns, requests under way have been cancelled and not waited for, and
// in may still be being read: the process is to exit. Nothing else may write to out.
//
// A panic in the lock is not recovered from.
func Serve(ctx context.Context, in io.Reader, out io.Writer, p Program) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &server{ctx: ctx, out: &printer{w: out}, program: p, owners: map[view]*owner{}, observers: map[[2]string]func(context.Context) (string, error){}, under: map[int64]context.CancelFunc{}}
	done := make(chan error, 1)
	go func() { done <- s.read(newLines(in)) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

type server struct {
	ctx     context.Context
	out     *printer
	program Program
	greeted time.Time
	before  map[string]bool // goroutines before the lock was opened
	lock    Lock
	ending  ending

	mu     sync.Mutex
	owners map[view]*owner
	// observers are the threads that ask who holds a lock.
	observers map[[2]string]func(context.Context) (string, error)
	under     map[int64]context.CancelFunc // requests under way
}

// read takes requests until there are no more. Each is carried out in a
// goroutine of its own, but for those that must not wait behind them or
// overtake them.
func (s *server) read(in *lines) error {
	for {
		line, err := in.next()
		if errors.Is(err, io.EOF) {
			return errors.New("read requests: the harness has gone")
		}
		if err != nil {
			return fmt.Errorf("read requests: %w", err)
		}
		r, err := decodeRequest(line)
		if err != nil {
			return fmt.Errorf("read requests: %w: %s", err, input.Quote(string(line)))
		}
		switch {
		case r.Do == doHello:
			err = s.hello(r)
		case r.Do == doDescribe:
			err = s.answer(r, reply{OK: true, Ready: Ready{Protocol: Protocol}, Locks: s.program.Locks})
		case r.Do == doStop:
			return s.answer(r, reply{OK: true})
		case s.lock == nil:
			err = fmt.Errorf("asked to %s before a hello", r.Do)
		case r.Do == doCancel:
			s.cancel(r.Of)
			err = s.answer(r, reply{OK: true})
		default:
			s.begin(r)
		}
		if err != nil {
			return err
		}
	}
}

func (s *server) hello(r request) error {
	if s.lock != nil {
		return errors.New("greeted twice")
	}
	s.greeted = time.Now()
	if r.Hello.Protocol != Protocol {
		err := fmt.Errorf("the harness speaks %q, this process %s: %w", r.Hello.Protocol, Protocol, errors.ErrUnsupported)
		return errors.Join(err, s.answer(r, failure(err)))
	}
	s.before = numbers()
	l, err := s.program.Open(*r.Hello)
	if err != nil {
		err = fmt.Errorf("open %s: %w", r.Hello.Lock, err)
		return errors.Join(err, s.answer(r, failure(err)))
	}
	s.lock, s.ending.lock = l, l
	ready := reply{OK: true, Ready: Ready{Protocol: Protocol}}
	if d, ok := l.(Described); ok {
		ready.Name, ready.Version = d.Describe()
	}
	return s.answer(r, ready)
}

// begin carries a request out, and answers it when that is over.
func (s *server) begin(r request) {
	ctx, cancel := context.WithCancel(s.ctx)
	if r.Canceled {
		cancel()
	}
	s.mu.Lock()
	s.under[r.ID] = cancel
	s.mu.Unlock()
	go func() {
		defer s.cancel(r.ID)
		began := time.Since(s.greeted)
		a, after := s.do(ctx, r)
		a.BeganNS, a.EndedNS = began.Nanoseconds(), time.Since(s.greeted).Nanoseconds()
		_ = s.answer(r, a) // out is broken: the reader will see the end of in
		if after != nil {
			after()
		}
	}()
}

// cancel ends the context of a request, if it is under way.
func (s *server) cancel(id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if cancel := s.under[id]; cancel != nil {
		cancel()
		delete(s.under, id)
	}
}

func (s *server) answer(r request, a reply) error {
	a.ID = r.ID
	if err := s.out.print(a); err != nil {
		return fmt.Errorf("answer: %w", err)
	}
	return nil
}

// do carries a request out. after, where there is one, is to be called when
// the answer is written.
func (s *server) do(ctx context.Context, r request) (a reply, after func()) {
	switch r.Do {
	case doIdentity:
		return reply{OK: true, Identity: s.lock.Identity(r.Thread)}, nil
	case doShutdown:
		return s.shutdown(ctx), nil
	case doClose:
		return result(s.ending.close()), nil
	case doFinish:
		return s.finish(ctx), nil
	case doObserve:
		holder, err := s.observer(r)(ctx)
		a := result(err)
		a.Holder = holder
		return a, nil
	case doAcquire, doRelease, doExtend, doState, doSettle:
		o, err := s.owner(r)
		if err != nil {
			return failure(err), nil
		}
		return o.do(ctx, r)
	}
	return failure(fmt.Errorf("%q is no request of %s: %w", r.Do, Protocol, errors.ErrUnsupported)), nil
}

func (s *server) shutdown(ctx context.Context) reply {
	l, ok := s.lock.(locks.Leaver)
	if !ok {
		return failure(fmt.Errorf("the lock cannot be shut down: %w", errors.ErrUnsupported))
	}
	return result(s.ending.shutdown(func() error { return l.Shutdown(ctx) }))
}

// observer returns the function by which a thread asks who holds a lock, making it on
// first use.
func (s *server) observer(r request) func(context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := [2]string{r.Lock, r.Thread}
	if ask := s.observers[key]; ask != nil {
		return ask
	}
	l, ok := s.lock.(locks.Observer)
	if !ok {
		return namesNoHolder
	}
	s.observers[key] = l.Observer(r.Lock, r.Thread)
	return s.observers[key]
}

// view is a thread's part of a lock, of which it may have one for reading and one for writing.
type view struct {
	lock, thread string
	mode         history.Mode
}

// owner returns the owner that a request is for, making it on first use.
func (s *server) owner(r request) (*owner, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := view{r.Lock, r.Thread, r.Share.Mode}
	if o := s.owners[key]; o != nil {
		return o, nil
	}
	l, err := s.locker(r)
	if err != nil {
		return nil, err
	}
	o := &owner{name: r.Lock, thread: r.Thread, locker: l, out: s.out, over: s.ctx.Done()}
	s.owners[key] = o
	return o, nil
}

func (s *server) locker(r request) (lock.Locker, error) {
	if r.Share == (history.Share{}) {
		return s.lock.Locker(r.Lock, r.Thread)
	}
	l, ok := s.lock.(locks.Sharer)
	if !ok {
		return nil, fmt.Errorf("the lock has neither readers nor acquires of several permits: %w", errors.ErrUnsupported)
	}
	return l.ShareLocker(r.Lock, r.Thread, r.Share), nil
}

// finish closes all there is, and says which goroutines are left.
func (s *server) finish(ctx context.Context) reply {
	err := s.ending.disconnect()
	s.mu.Lock()
	for _, o := range s.owners {
		o.forget()
	}
	s.mu.Unlock()
	a := result(err)
	a.Goroutines = leftover(ctx, s.before)
	return a
}

// result is the reply that says nothing but how it went.
func result(err error) reply {
	if err != nil {
		return failure(err)
	}
	return reply{OK: true}
}

// ending closes a lock and its connections, each once.
type ending struct {
	lock             Lock
	closing, cutting sync.Once
	closed, cut      error
}

func (e *ending) close() error {
	e.closing.Do(func() { e.closed = e.lock.Close() })
	return e.closed
}

// shutdown shuts the lock down, which closes it.
func (e *ending) shutdown(do func() error) error {
	err := do()
	if !errors.Is(err, errors.ErrUnsupported) {
		e.closing.Do(func() {})
	}
	return err
}

func (e *ending) disconnect() error {
	err := e.close()
	e.cutting.Do(func() { e.cut = e.lock.Disconnect() })
	return errors.Join(err, e.cut)
}
