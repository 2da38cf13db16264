// Package proxy carries the connections of the live world. Every connection
// between two parties belongs to a [Link] and runs through toxiproxy's chains of
// toxics, one for each direction. A [Listener] accepts connections on behalf of a
// server. A tap announces the requests and replies of clients.
package proxy

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/Shopify/toxiproxy/v2/stream"
	"github.com/Shopify/toxiproxy/v2/toxics"

	"github.com/holdfast-go/holdfast/faults"
	own "github.com/holdfast-go/holdfast/internal/toxics"
)

// Link is the path from one party to a server: the connections between them.
//
// toxiproxy's own listener is not enough. It can break its connections only by
// giving up its port, and it cannot distinguish two parties behind one listener.
type Link struct {
	faults.Link
	toxics  *toxiproxy.ToxicCollection
	parties *Parties

	// moments, when not nil, gets the requests over the link. running is then set.
	moments *Moments
	running func() <-chan struct{}
	killed  func() bool

	requests own.Requests // that faults withhold
	refusals own.Refusals // of new connections

	mu     sync.Mutex
	opened int
	conns  map[int]*pair
	closed bool
	ending sync.WaitGroup
}

// pair is a connection: the dialler's end and the server's end.
type pair struct {
	dialler, server *end
	tap             *tap // may be nil
	halves          int  // chains that have not ended
	half            bool // half open, until it is aborted
}

func (p *pair) abort() {
	p.dialler.abort()
	p.abortServer()
}

// abortServer breaks the server's end, except for a request that counts as
// received.
func (p *pair) abortServer() {
	if p.tap == nil || !p.tap.abandon() {
		p.server.abort()
	}
}

// proxies is a stub for toxiproxy's API server, which does not run.
var proxies = &toxiproxy.ApiServer{Metrics: toxiproxy.NewMetricsContainer(nil)}

// limit bounds the wait for connections to end.
const limit = 30 * time.Second

// NewLink makes a link without connections. It registers each connection with p.
func NewLink(l faults.Link, p *Parties) *Link {
	proxy := &toxiproxy.Proxy{Name: l.From + " to " + l.To}
	return &Link{Link: l, toxics: toxiproxy.NewToxicCollection(proxy), parties: p, conns: map[int]*pair{}}
}

// Tap announces the requests over the link, and their replies. running returns a
// channel that is closed when the process that now serves the node ends; it
// returns nil while the node is down. killed reports whether that process is about to
// be killed: then nothing reaches it or leaves it any more.
func (l *Link) Tap(m *Moments, running func() <-chan struct{}, killed func() bool) {
	l.moments, l.running, l.killed = m, running, killed
}

// join copies data between the two ends, through the toxics of the link. from is
// the address that the server sees.
func (l *Link) join(dialler, server Conn, from string) {
	p := &pair{dialler: &end{Conn: dialler}, server: &end{Conn: server}, halves: 2}
	if l.moments != nil {
		process := l.running()
		if process == nil { // it died just now
			p.abort()
			return
		}
		p.tap = &tap{link: l.Link, moments: l.moments, running: l.running, killed: l.killed, process: process, conn: p.server, from: from, withheld: l.requests.Withheld, abort: p.abort}
	}
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		p.abort()
		return
	}
	l.opened++
	id := l.opened
	l.conns[id] = p
	l.ending.Add(2)
	l.mu.Unlock()
	l.parties.add(l.To, from, l.From)
	ended := func() {
		l.mu.Lock()
		p.halves--
		l.forgetOver()
		l.mu.Unlock()
		l.ending.Done()
	}
	var requests io.WriteCloser = &sink{conn: p.server, ended: ended}
	var replies io.Reader = p.server
	var dialled io.WriteCloser = &sink{conn: p.dialler, ended: ended}
	if p.tap != nil {
		requests, replies = newQueue(&sink{conn: p.tap, ended: ended}), p.tap
		dialled = newQueue(&sink{conn: arriving{p.tap, p.dialler}, ended: ended})
	}
	l.toxics.StartLink(proxies, fmt.Sprint(id, " up"), dialler, requests, stream.Upstream)
	l.toxics.StartLink(proxies, fmt.Sprint(id, " down"), replies, dialled, stream.Downstream)
}

// forgetOver forgets ended connections: both ways have ended, and neither party
// believes that it has the connection. The caller holds the lock.
func (l *Link) forgetOver() {
	maps.DeleteFunc(l.conns, func(_ int, p *pair) bool { return p.halves == 0 && !p.half })
}

// sink is the end of a chain. It takes all data, even if the connection behind it is
// broken. Without a reader a chain would never end, and its toxics could not be removed.
type sink struct {
	conn   io.WriteCloser
	broken bool
	ended  func()
}

func (s *sink) Write(b []byte) (int, error) {
	if !s.broken {
		_, err := s.conn.Write(b)
		s.broken = err != nil
	}
	return len(b), nil
}

func (s *sink) Close() error {
	defer s.ended()
	return s.conn.Close()
}

// Attach adds a toxic to every present and future connection of the link.
func (l *Link) Attach(dir stream.Direction, t toxics.Toxic) (detach func(), err error) {
	name, request, forget := carry(dir, t)
	if _, err := l.toxics.AddToxicJson(strings.NewReader(request)); err != nil {
		forget()
		return nil, fmt.Errorf("attach a toxic: %w", err)
	}
	return sync.OnceFunc(func() {
		// It can only fail for a toxic that is not there.
		_ = l.toxics.RemoveToxic(context.Background(), name)
		forget()
	}), nil
}

// Reset breaks every connection of the link.
func (l *Link) Reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range l.conns {
		p.abort()
	}
}

// HalfOpen ends every open connection at one party's end, the server's or the
// dialler's. tell ends the other end.
func (l *Link) HalfOpen(serverGone bool) (tell func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var struck []*pair
	for _, id := range slices.Sorted(maps.Keys(l.conns)) {
		p := l.conns[id]
		p.half = true
		struck = append(struck, p)
		if serverGone {
			p.dialler.keep(true)
			p.abortServer()
		} else {
			p.server.keep(false)
			p.dialler.abort()
		}
	}
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, p := range struck {
			p.abort()
			p.half = false
		}
		l.forgetOver()
	}
}

// WithholdRequest withholds one request until release: see [faults.World]. It fails on
// a link without a tap, which cannot see single requests.
func (l *Link) WithholdRequest() (release func(), err error) {
	if l.moments == nil {
		return nil, fmt.Errorf("the harness sees no single requests from %s to %s", l.From, l.To)
	}
	return l.requests.Withhold(), nil
}

// Refuse rejects new connections until allow. It breaks a connection right after
// its acceptance, as if the server did not listen.
func (l *Link) Refuse() (allow func()) { return l.refusals.Refuse() }

func (l *Link) Connections() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, p := range l.conns {
		if p.halves > 0 {
			n++
		}
	}
	return n
}

// Close breaks every connection, and returns when their chains have ended.
func (l *Link) Close() error {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.requests.Release()
	l.Reset()
	ended := make(chan struct{})
	go func() {
		l.ending.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-time.After(limit):
		return fmt.Errorf("the connections from %s to %s do not end: a toxic withholds their data", l.From, l.To)
	}
}
