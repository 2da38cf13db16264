package sim

import (
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/Shopify/toxiproxy/v2/stream"
	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/internal/traffic"
)

// pipe is one direction of a connection. Messages queue with their time of arrival. The
// reader looks at that time, so a message needs neither a timer nor a goroutine.
type pipe struct {
	link    *link
	sending traffic.Use // SentUp or SentDown
	rng     *rand.Rand
	reader  *pipeConn
	flow    *flow // nil unless somebody watches

	arrivals *faults.Arrivals // nil unless the world reports them

	mu       sync.Mutex
	line     []arrival // on their way, first to last
	buf      []byte
	err      error                 // what read returns once buf is empty
	broken   bool                  // err is returned even when buf is not
	deadline time.Time             // of a read, zero for none
	waiting  int                   // readers
	again    chan struct{}         // capacity 1: a reader looks again
	alarm    *time.Timer           // when a reader looks again; nil until one had to wait
	last     time.Time             // when the last message arrives
	sentAt   time.Time             // when what arrived last was sent, zero where a toxic made it anew
	marks    map[time.Time]string  // those of the goroutines that sent what is on its way
	mark     string                // that of what arrived last
	sent     bool                  // the writer has closed
	void     bool                  // whatever is written is lost, and the writer does not know
	dry      bool                  // nothing arrives, and the reader does not know
	stages   []*stage              // toxics, first to last
	parked   []*stream.StreamChunk // written while the writer was paused
	leaving  []*stream.StreamChunk // messages that have not left, and what came after them
}

// arrival is a chunk on its way, nil for the end of the stream.
type arrival struct {
	at    time.Time
	chunk *stream.StreamChunk
}

// errWrite is the error of a write to a broken connection.
var errWrite = &net.OpError{Op: "write", Net: "tcp", Err: errPipe}

func newPipe(l *link, sending traffic.Use, rng *rand.Rand) *pipe {
	return &pipe{link: l, sending: sending, rng: rng, again: make(chan struct{}, 1)}
}

// read also reports whether it had to wait for the end of a pause.
func (p *pipe) read(b []byte, frozen func() bool) (n int, thawed bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		now := time.Now()
		p.receive(now)
		still := frozen()
		switch {
		case p.broken:
			return 0, thawed, p.err
		case still: // neither data nor a deadline reaches a paused process
			thawed = true
		case len(p.buf) > 0:
			n := copy(b, p.buf)
			p.buf = p.buf[n:]
			return n, thawed, nil
		case p.err != nil:
			return 0, thawed, p.err
		case !p.deadline.IsZero() && !p.deadline.After(now):
			return 0, thawed, os.ErrDeadlineExceeded
		default:
			thawed = false // it waits for the other side from now on
		}
		p.wait(still)
	}
}

// wait returns when there may be data to read. A frozen reader waits for a
// wake-up. The caller holds the lock.
func (p *pipe) wait(frozen bool) {
	if p.alarm == nil {
		p.alarm = time.NewTimer(0)
	}
	p.waiting++
	p.arm(frozen)
	p.mu.Unlock()
	select {
	case <-p.alarm.C:
	case <-p.again:
	}
	p.mu.Lock()
	if p.waiting--; p.waiting > 0 {
		p.look() // the next reader too
	}
}

// arm sets the alarm for waiting readers; a frozen reader needs none. The caller
// holds the lock.
func (p *pipe) arm(frozen bool) {
	if p.waiting == 0 {
		return // who reads later looks first
	}
	next := p.deadline
	if len(p.line) > 0 && (next.IsZero() || p.line[0].at.Before(next)) {
		next = p.line[0].at
	}
	if frozen || next.IsZero() {
		p.alarm.Stop()
	} else {
		p.alarm.Reset(time.Until(next))
	}
}

// look wakes a waiting reader. The caller holds the lock.
func (p *pipe) look() {
	if p.waiting == 0 {
		return // who reads later looks first
	}
	select {
	case p.again <- struct{}{}:
	default:
	}
}

// receive takes the arrived data. The caller holds the lock.
func (p *pipe) receive(now time.Time) {
	for len(p.line) > 0 && !p.line[0].at.After(now) {
		c := p.line[0].chunk
		p.line = p.line[1:]
		if c == nil {
			p.err = io.EOF
			continue
		}
		if len(p.buf) == 0 {
			p.buf = c.Data
		} else {
			p.buf = append(slices.Clip(p.buf), c.Data...)
		}
		p.flow.arrived(c.Data)
		p.sentAt, p.mark = c.Timestamp, p.marks[c.Timestamp]
		delete(p.marks, c.Timestamp)
	}
}

// sentBy notes the mark of the goroutine that sends something now.
func (p *pipe) sentBy(now time.Time, mark string) {
	if mark == "" {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.marks == nil {
		p.marks = map[time.Time]string{}
	}
	p.marks[now] = mark
}

// lastSent is when what arrived last was sent, and the mark of its goroutine; zero and ""
// when that is not known.
func (p *pipe) lastSent() (time.Time, string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sentAt, p.mark
}

func (p *pipe) setDeadline(t time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.deadline = t
	p.arm(p.reader.frozen())
}

// send sends a chunk, or the end of the stream for nil; false means that the pipe
// is closed.
func (p *pipe) send(c *stream.StreamChunk, frozen bool) bool {
	p.mu.Lock()
	if p.void {
		p.flow.sent(c, false)
		p.flow.broke(errWrite)
		p.mu.Unlock()
		return true
	}
	if p.sent || p.broken {
		p.mu.Unlock()
		return false
	}
	p.sent = c == nil
	parks := frozen || len(p.parked) > 0
	p.flow.sent(c, parks)
	if parks {
		p.parked = append(p.parked, c)
		p.mu.Unlock()
		return true
	}
	if p.publishes(c) {
		p.mu.Unlock()
		return true
	}
	first := p.first()
	p.mu.Unlock()
	p.forward(first, c)
	return true
}

// unpark sends the data that was written during a pause. A chunk stays parked
// until it is sent, so that nothing overtakes it.
func (p *pipe) unpark() {
	for {
		p.mu.Lock()
		if len(p.parked) == 0 {
			p.mu.Unlock()
			return
		}
		c, first := p.parked[0], p.first()
		p.mu.Unlock()
		p.forward(first, c)
		p.mu.Lock()
		p.parked = p.parked[1:]
		p.mu.Unlock()
	}
}

// wasReset reports whether the connection broke, and neither end closed it.
func (p *pipe) wasReset() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.broken && !p.void && !errors.Is(p.err, net.ErrClosed)
}

// ended reports whether nothing more arrives: the connection broke, or the
// writer has closed it.
func (p *pipe) ended() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err != nil
}

// first is the first toxic, or nil. Called with the lock held.
func (p *pipe) first() *stage {
	if len(p.stages) == 0 {
		return nil
	}
	return p.stages[0]
}

// forward gives a chunk to a stage, or to the wire after the last one. A nil
// chunk is the end of the stream.
func (p *pipe) forward(s *stage, c *stream.StreamChunk) {
	p.link.used(p.sending)
	if s != nil {
		p.flow.enters(c, s)
		s.push(c)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.broken || p.dry {
		return
	}
	at := time.Now().Add(p.link.delay(p.rng))
	if !at.After(p.last) {
		at = p.last.Add(1)
	}
	p.last = at
	if p.arrivals != nil {
		time.AfterFunc(time.Until(at), func() { p.arrive(c) })
		return
	}
	p.line = append(p.line, arrival{at, c})
	if len(p.line) == 1 {
		p.arm(p.reader.frozen())
	}
	if p.flow != nil { // an observer asks for its arrival, even if no client reads
		time.AfterFunc(time.Until(at), func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.receive(time.Now())
			p.look()
		})
	}
}

// swallow loses the data that is written from now on, and with underWay the data
// on its way. Neither side learns of it until hear.
func (p *pipe) swallow(underWay bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.void = true
	if underWay {
		p.dry, p.line = true, nil
		p.flow.broke(errWrite)
	}
}

// hear ends what swallow began.
func (p *pipe) hear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.void, p.dry = false, false
}

func (p *pipe) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.broken {
		p.broken, p.err = true, err
		p.flow.broke(err)
	}
	p.line = nil
	p.look()
}

func (p *pipe) wake() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.look()
}

// cutOff stops the toxics of a broken pipe.
func (p *pipe) cutOff() {
	p.mu.Lock()
	stages := p.stages
	p.stages = nil
	p.mu.Unlock()
	for _, s := range stages {
		s.stop()
	}
}
