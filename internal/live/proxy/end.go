package proxy

import (
	"net"
	"sync"
)

// Conn is a connection whose two directions can end separately: TCP, or TLS over
// it.
type Conn interface {
	net.Conn
	CloseWrite() error
}

// end is the proxy's end of the connection to one party. It stays open while that
// party must not know that the other one is gone.
type end struct {
	Conn

	mu    sync.Mutex
	kept  bool // open, whichever side closes it
	muted bool // it sends nothing more
}

// keep keeps the connection open until abort, and sends no more data over it if
// mute.
func (e *end) keep(mute bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.kept, e.muted = true, mute
}

func (e *end) state() (kept, muted bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.kept, e.muted
}

func (e *end) Write(b []byte) (int, error) {
	if _, muted := e.state(); muted {
		return len(b), nil
	}
	return e.Conn.Write(b)
}

func (e *end) Close() error {
	if kept, _ := e.state(); kept {
		return nil
	}
	return e.Conn.Close()
}

func (e *end) CloseWrite() error {
	if kept, _ := e.state(); kept {
		return nil
	}
	return e.Conn.CloseWrite()
}

// abort breaks the connection at once, and notifies the party.
func (e *end) abort() {
	e.mu.Lock()
	e.kept, e.muted = false, false
	e.mu.Unlock()
	abort(e.Conn)
}
