package sim

import (
	"slices"
	"sync"
	"time"

	"github.com/Shopify/toxiproxy/v2/stream"
	"github.com/Shopify/toxiproxy/v2/toxics"
)

// stage runs one toxic on one pipe. Chunks queue up before it, as they do in a socket's
// buffer, and it passes them to the next stage.
//
//	write -> queue -> toxic.Pipe -> next stage ... -> wire
type stage struct {
	toxic toxics.Toxic
	since time.Time // when its link got the toxic
	stub  *toxics.ToxicStub
	input chan *stream.StreamChunk
	next  func(*stream.StreamChunk) // hands on, nil is the end of the stream

	mu     sync.Mutex
	queue  []*stream.StreamChunk
	ended  bool          // the stream's end is in the queue
	more   chan struct{} // capacity 1: the queue has grown
	quit   chan struct{} // closed by stop
	piped  chan struct{} // closed when the toxic has returned
	fed    chan struct{} // closed when the feeder has returned
	handed chan struct{} // closed when everything let through has been handed on
}

func newStage(t toxics.Toxic, since time.Time, next func(*stream.StreamChunk)) *stage {
	s := &stage{
		toxic: t, since: since, next: next,
		more: make(chan struct{}, 1), quit: make(chan struct{}),
		piped: make(chan struct{}), fed: make(chan struct{}), handed: make(chan struct{}),
	}
	size := 0
	if b, ok := t.(toxics.BufferedToxic); ok {
		size = b.GetBufferSize()
	}
	s.input = make(chan *stream.StreamChunk, size)
	output := make(chan *stream.StreamChunk)
	s.stub = toxics.NewToxicStub(s.input, output)
	if st, ok := t.(toxics.StatefulToxic); ok {
		s.stub.State = st.NewState()
	}
	go s.feed()
	go func() {
		defer close(s.piped)
		t.Pipe(s.stub)
	}()
	go s.hand(output)
	return s
}

func (s *stage) push(c *stream.StreamChunk) {
	s.mu.Lock()
	s.queue = append(s.queue, c)
	s.mu.Unlock()
	select {
	case s.more <- struct{}{}:
	default:
	}
}

// feed moves chunks from the queue into the toxic until stop. A chunk is
// taken off the queue only once the toxic has it.
func (s *stage) feed() {
	defer close(s.fed)
	for {
		s.mu.Lock()
		var head *stream.StreamChunk
		waiting := len(s.queue) > 0
		if waiting {
			head = s.queue[0]
		}
		s.mu.Unlock()
		if !waiting {
			select {
			case <-s.more:
				continue
			case <-s.quit:
				return
			}
		}
		if head == nil {
			close(s.input)
			s.pop()
			s.ended = true
			return
		}
		select {
		case s.input <- head:
			s.pop()
		case <-s.quit:
			return
		}
	}
}

func (s *stage) pop() {
	s.mu.Lock()
	s.queue = s.queue[1:]
	s.mu.Unlock()
}

// hand passes on the output of the toxic. The toxic closes its output at the end
// of the stream.
func (s *stage) hand(output <-chan *stream.StreamChunk) {
	defer close(s.handed)
	for {
		select {
		case c, ok := <-output:
			s.next(c) // nil when it is closed
			if !ok {
				return
			}
		case <-s.piped:
			for { // what was let through before the toxic returned
				select {
				case c, ok := <-output:
					s.next(c)
					if !ok {
						return
					}
				default:
					return
				}
			}
		}
	}
}

// stop removes the toxic and returns the chunks that had not entered it yet; a
// final nil is the end of the stream.
func (s *stage) stop() []*stream.StreamChunk {
	close(s.quit)
	<-s.fed
	select {
	case s.stub.Interrupt <- struct{}{}:
		<-s.piped
	case <-s.piped:
	}
	<-s.handed
	s.mu.Lock()
	defer s.mu.Unlock()
	rest := s.queue
	s.queue = nil
	for len(s.input) > 0 { // a buffered toxic's; feed has ended
		rest = append([]*stream.StreamChunk{<-s.input}, rest...)
	}
	if s.ended && !s.stub.Closed() {
		rest = append(rest, nil)
	}
	return rest
}

// attach puts a toxic, which its link has had since then, on the pipe, after
// those already there.
func (p *pipe) attach(t toxics.Toxic, since time.Time) *stage {
	var s *stage
	s = newStage(t, since, func(c *stream.StreamChunk) { p.forward(p.after(s), c) })
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stages = append(p.stages, s)
	return s
}

// after is the stage behind s, or nil for the wire.
func (p *pipe) after(s *stage) *stage {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.stages, s); i >= 0 && i+1 < len(p.stages) {
		return p.stages[i+1]
	}
	return nil
}

// detach removes a toxic; the chunks that waited before it go on.
func (p *pipe) detach(s *stage) {
	p.mu.Lock()
	there := slices.Contains(p.stages, s)
	p.mu.Unlock()
	if !there {
		return // the connection broke meanwhile
	}
	rest := s.stop()
	next := p.after(s)
	p.mu.Lock()
	p.stages = without(p.stages, s)
	p.mu.Unlock()
	for _, c := range rest {
		p.forward(next, c)
	}
}
