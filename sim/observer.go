package sim

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/Shopify/toxiproxy/v2/stream"
	"github.com/Shopify/toxiproxy/v2/toxics"
	"github.com/holdfast-go/holdfast/internal/traffic"
)

// observer follows every message of a world. A nil observer follows none.
type observer struct {
	tell func(traffic.Message)

	mu    sync.Mutex
	flows []*flow // of every connection there ever was
	ended bool
}

// opened follows a new connection, the nth of its link.
func (o *observer) opened(l *link, n int, c *pipeConn) {
	if o == nil {
		return
	}
	asked := new(questions)
	up := &flow{observer: o, link: l, conn: n, up: true, asked: asked}
	down := &flow{observer: o, link: l, conn: n, asked: asked}
	c.out.flow, c.in.flow = up, down
	o.mu.Lock()
	o.flows = append(o.flows, up, down)
	o.mu.Unlock()
	c.log(traffic.Opened)
}

// log reports an event of the whole connection, at this end. It reports the end of
// a connection once.
func (c *pipeConn) log(kind string) {
	f := c.out.flow
	switch {
	case f == nil:
	case kind == traffic.Opened:
		f.say(kind)
	case kind == traffic.Broken && !f.up: // alike, whichever end it was broken at
		f = c.in.flow
		fallthrough
	default:
		f.asked.ended.Do(func() { f.say(kind) })
	}
}

// over reports every message on its way, and then nothing more.
func (o *observer) over() {
	if o == nil {
		return
	}
	for _, m := range o.inFlight() {
		o.told(m)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ended = true
}

func (o *observer) told(m traffic.Message) {
	o.mu.Lock()
	ended := o.ended
	o.mu.Unlock()
	if !ended {
		o.tell(m)
	}
}

// inFlight lists the messages on their way, in a fixed order.
func (o *observer) inFlight() []traffic.Message {
	if o == nil {
		return nil
	}
	o.mu.Lock()
	flows := slices.Clone(o.flows)
	o.mu.Unlock()
	var all []traffic.Message
	for _, f := range flows {
		all = append(all, f.inFlight()...)
	}
	slices.SortFunc(all, traffic.ByTime)
	return all
}

// flow follows the messages of one direction of one connection. A nil flow follows none.
type flow struct {
	observer *observer
	link     *link
	conn     int
	up       bool // from the side that dialled
	asked    *questions

	mu     sync.Mutex
	n      int
	frames framing // of what is sent
	back   framing // of what arrives
	under  []*passing
}

// passing is a message that has not arrived.
type passing struct {
	traffic.Message
	data  string
	chunk *stream.StreamChunk // that it was sent in
}

// sent records the messages of a write; a nil chunk is the end of the stream.
func (f *flow) sent(c *stream.StreamChunk, paused bool) {
	if f == nil || c == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, data := range f.frames.split(f.link.replicates, c.Data) {
		m := f.message()
		m.Paused = paused
		m.Kind, m.Text = f.describe(data)
		f.under = append(f.under, &passing{Message: m, data: string(data), chunk: c})
	}
}

// message is the next one. Called with the lock held.
func (f *flow) message() traffic.Message {
	f.n++
	m := traffic.Message{Sent: time.Now(), From: f.link.from, To: f.link.to, Conn: f.conn, Upstream: f.up, N: f.n}
	if !f.up {
		m.From, m.To = m.To, m.From
	}
	return m
}

// say reports an event that is no message.
func (f *flow) say(kind string) {
	f.mu.Lock()
	m := f.message()
	f.mu.Unlock()
	m.Kind = kind
	f.observer.told(m)
}

// enters records that the messages of a chunk pass through a toxic.
func (f *flow) enters(c *stream.StreamChunk, s *stage) {
	if f == nil || c == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range slices.Clone(f.under) {
		if p.chunk != c {
			continue
		}
		d, dropping := s.toxic.(interface{ Drops(frame []byte) bool })
		dropped := dropping && d.Drops([]byte(p.data))
		if dropping && !dropped {
			continue // it goes through untouched
		}
		p.Toxics = append(p.Toxics, traffic.Hindrance{Toxic: nameOf(s.toxic), Since: s.since})
		if dropped {
			f.end(p, traffic.Dropped)
		}
	}
}

// nameOf is the name of a toxic's type, without its package.
func nameOf(t toxics.Toxic) string {
	_, name, _ := strings.Cut(fmt.Sprintf("%T", t), ".")
	return name
}

// arrived records the data that the reader can now read. Toxics make chunks of their own,
// so arrived identifies messages by their content: none overtakes another.
func (f *flow) arrived(data []byte) {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, frame := range f.back.split(f.link.replicates, data) {
		if i := slices.IndexFunc(f.under, func(p *passing) bool { return p.data == string(frame) }); i >= 0 {
			f.end(f.under[i], traffic.Arrived)
		}
	}
}

// broke records that no message on its way arrives.
func (f *flow) broke(err error) {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	fate := traffic.Lost
	if errors.Is(err, net.ErrClosed) {
		fate = traffic.Unread
	}
	for _, p := range slices.Clone(f.under) {
		f.end(p, fate)
	}
}

// end records the fate of a message. The caller holds the lock.
func (f *flow) end(p *passing, fate string) {
	f.under = without(f.under, p)
	p.Fate, p.Ended = fate, time.Now()
	f.observer.told(p.Message)
}

func (f *flow) inFlight() []traffic.Message {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []traffic.Message
	for _, p := range f.under {
		m := p.Message
		m.Toxics = slices.Clone(m.Toxics)
		all = append(all, m)
	}
	return all
}
