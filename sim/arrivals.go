package sim

import (
	"time"

	"github.com/Shopify/toxiproxy/v2/stream"

	"github.com/holdfast-go/holdfast/faults"
)

// publishes reports whether a chunk is a message for a client, or follows one that has not
// left. Such a chunk leaves in a goroutine of its own, because its sender holds locks of the
// server. It leaves in its turn, so after the faults of the request that published it, and
// after the announcement. The caller holds the pipe's lock.
func (p *pipe) publishes(c *stream.StreamChunk) bool {
	waiting := len(p.leaving) > 0
	if !waiting && (c == nil || p.reader.owner == nil || !faults.IsMessage(c.Data)) {
		return false
	}
	p.leaving = append(p.leaving, c)
	if !waiting {
		go p.publish()
	}
	return true
}

// publish sends the waiting chunks, in order. Several subscribers get one message
// at one instant.
func (p *pipe) publish() {
	p.reader.takeTurn()
	for {
		p.mu.Lock()
		c := p.leaving[0]
		p.mu.Unlock()
		if p.arrivals != nil && c != nil && faults.IsMessage(c.Data) {
			p.tell(faults.Moment{Name: faults.Published})
		}
		p.mu.Lock()
		first := p.first()
		p.mu.Unlock()
		p.forward(first, c)
		p.mu.Lock()
		p.leaving = p.leaving[1:]
		over := len(p.leaving) == 0
		p.mu.Unlock()
		if over {
			return
		}
	}
}

// arrive announces an arrived chunk, and then passes it to the reader.
func (p *pipe) arrive(c *stream.StreamChunk) {
	if p.lost() {
		return
	}
	if c != nil {
		for _, m := range p.arrivals.Arrived(c.Data) {
			p.tell(m)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.broken || p.dry { // just now, perhaps
		return
	}
	now := time.Now()
	p.line = append(p.line, arrival{now, c})
	p.receive(now)
	p.look()
}

// lost reports whether nothing arrives any more.
func (p *pipe) lost() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.broken || p.dry
}

func (p *pipe) tell(m faults.Moment) {
	m.Client, m.Node, m.Op = p.link.from, p.link.to, p.link.op()
	p.link.announce(m)
}
