// Package script runs Lua scripts on a miniredis server, with the replies and
// effects of miniredis. It is faster because it keeps interpreters, while
// miniredis creates one for every call. A script that could leave state in an
// interpreter, or depend on it, goes to miniredis.
package script

import (
	"bufio"
	"io"
	"strconv"
	"strings"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
)

// Engine executes the requests of one server process, from its start to its end. No other
// client executes requests there, and the server asks for no password. INFO does not
// count the scripts that run in an engine. The methods of an engine and of its sessions
// must not run concurrently.
type Engine struct {
	mr  *miniredis.Miniredis
	srv *server.Server
	// known are scripts that EVALSHA may name, by their SHA1. miniredis has them too,
	// apart from the unlisted ones, and it may have more.
	known  map[string]*program
	untold []*program
	keys   Keys
}

// New returns the engine of a server that has just started.
func New(mr *miniredis.Miniredis) *Engine {
	probed() // its goroutines end before anything else happens
	return &Engine{mr: mr, srv: mr.Server(), known: map[string]*program{}}
}

// Session is one connection. It gets its replies through its peer.
type Session struct {
	engine   *Engine
	peer     *server.Peer
	queueing bool // after MULTI
	queued   bool // SCRIPT waits for EXEC
	apart    bool // its scripts run in another context than everybody's
}

// Session begins a connection.
func (e *Engine) Session(peer *server.Peer) *Session { return &Session{engine: e, peer: peer} }

// Execute executes one request, as [server.Server.Dispatch] does. It returns
// the keys whose values the request may have changed. They are valid until the
// engine executes the next request.
func (s *Session) Execute(args []string) Keys {
	e, cmd := s.engine, strings.ToUpper(args[0])
	e.keys.reset()
	if (cmd == "EVAL" || cmd == "EVALSHA") && !s.queueing && !s.apart && e.run(s.peer, cmd, args[1:]) {
		return e.keys
	}
	e.keys.add(e.srv, cmd, args[1:])
	switch cmd {
	case "EVALSHA":
		if len(args) > 1 && e.known[args[1]] != nil {
			e.tell()
		}
	case "EVALSHA_RO", "SCRIPT", "EXEC":
		e.tell()
	}
	e.srv.Dispatch(s.peer, args)
	s.note(cmd, args)
	return e.keys
}

// note follows what a request that miniredis has executed means for scripts.
func (s *Session) note(cmd string, args []string) {
	e := s.engine
	switch cmd {
	case "SCRIPT":
		s.queued = s.queued || s.queueing
		switch sub := strings.ToUpper(strings.Join(args[1:min(2, len(args))], "")); {
		case sub == "FLUSH":
			e.forget()
		case sub == "LOAD" && len(args) == 3 && !s.queueing && !s.apart:
			if p := find(args[2]); p != nil {
				e.known[p.sha] = p
			}
		}
	case "MULTI":
		s.queueing = true
	case "EXEC", "DISCARD":
		if len(args) > 1 {
			return // an error, which ends nothing
		}
		if s.queued && cmd == "EXEC" {
			e.forget()
		}
		s.queueing, s.queued = false, false
	case "SELECT", "AUTH", "SUBSCRIBE", "PSUBSCRIBE":
		s.apart = true
	}
}

// run runs a script, and adds it to those that EVALSHA may name. False means
// that nothing has happened, and that miniredis has to answer.
func (e *Engine) run(peer *server.Peer, cmd string, args []string) bool {
	if len(args) < 2 {
		return false
	}
	p := e.known[args[0]]
	if cmd == "EVAL" {
		p = find(args[0])
	}
	n, err := strconv.Atoi(args[1])
	if p == nil || err != nil || n < 0 || n > len(args)-2 {
		return false
	}
	in := interpreters.Get().(*interpreter)
	e.mr.Lock() // as miniredis holds it while a script runs
	ok := in.run(e, peer, p, args[2:2+n], args[2+n:])
	e.mr.Unlock()
	if ok && in.clean(p) {
		interpreters.Put(in)
	}
	if ok && e.known[p.sha] == nil {
		e.known[p.sha] = p
		e.untold = append(e.untold, p)
	}
	if peer.SwitchResp3 != nil { // as server.Server.Dispatch does
		peer.Resp3, peer.SwitchResp3 = *peer.SwitchResp3, nil
	}
	return true
}

// tell gives miniredis the scripts that it does not know.
func (e *Engine) tell() {
	for _, p := range e.untold {
		e.srv.Dispatch(unread(), []string{"SCRIPT", "LOAD", p.text})
	}
	e.untold = nil
}

// forget leaves the list of scripts to miniredis, which has all of them.
func (e *Engine) forget() { clear(e.known) }

// FlushScripts has the server forget all scripts, as SCRIPT FLUSH does.
func (e *Engine) FlushScripts() {
	e.Session(unread()).Execute([]string{"SCRIPT", "FLUSH"})
}

// unread is a connection whose replies no client reads.
func unread() *server.Peer { return server.NewPeer(bufio.NewWriter(io.Discard)) }
