// Package adapter implements the protocol between the harness and a client process
// that serves a third-party lock in the live world. The process runs [Serve]; the
// harness talks to it through a [Conversation]. docs/adapter-protocol.md describes
// the protocol for adapters in other languages.
//
// A message is a JSON object on a line of its own. The harness sends requests to
// the process's standard input. The process answers each one once, in any order,
// on its standard output, and sends events in between.
package adapter

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/input"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// Protocol is the version of the protocol, which both sides must speak.
const Protocol = "holdfast-worker/1"

// maxLine is the longest message, in bytes.
const maxLine = 1 << 20

// The kinds of requests.
const (
	doDescribe = "describe"
	doHello    = "hello"
	doIdentity = "identity"
	doAcquire  = "acquire"
	doRelease  = "release"
	doExtend   = "extend"
	doObserve  = "observe"
	doState    = "state"
	doSettle   = "settle"
	doCancel   = "cancel"
	doShutdown = "shutdown"
	doClose    = "close"
	doFinish   = "finish"
	doStop     = "stop"
)

// Hello is the first message to a process: the lock to open, and its settings.
type Hello struct {
	Protocol string `json:"protocol"`
	// Process is the client's name in the history, "client-1". It is the
	// client's only name: a lock that wants an identifier may use it.
	Process string `json:"process"`
	// Lock names the lock under test, "reentrant".
	Lock string `json:"lock"`
	// Seed is where what the lock draws at random comes from.
	Seed uint64 `json:"seed"`
	// LeaseNS is the lock's lease or watchdog timeout, and PollNS how long a
	// waiter goes without looking, 0 for the lock's default; nanoseconds of
	// real time.
	LeaseNS int64 `json:"lease_ns"`
	PollNS  int64 `json:"poll_ns,omitempty"`
	// Replicas is the number of replicas of each primary.
	Replicas int `json:"replicas,omitempty"`
	// Acks is the number of them that must confirm a grant, with a lock that waits for
	// them; 0 is 1.
	Acks int `json:"acks,omitempty"`
	// Redis is the way to the servers.
	Redis Access `json:"redis"`
}

// Ready is the account that a process gives of itself when its lock is open.
type Ready struct {
	Protocol string `json:"protocol,omitempty"`
	// Name and Version are those of the lock, as its authors have them.
	Name    string `json:"name,omitempty"`
	Version string `json:"version,omitempty"`
}

type request struct {
	ID     int64  `json:"id"`
	Do     string `json:"do"`
	Hello  *Hello `json:"hello,omitempty"`
	Lock   string `json:"lock,omitempty"`
	Thread string `json:"thread,omitempty"`
	// Share is that of the thread. "mode" is "shared" for one that reads. "permits" are those
	// that an acquire takes of a semaphore and a release gives back.
	history.Share
	// WaitNS is the time for which an acquire waits: 0 tries once, below 0 is for ever.
	WaitNS int64 `json:"wait_ns,omitempty"`
	// LeaseNS is the lease that is asked for, 0 for the lock's default.
	LeaseNS int64 `json:"lease_ns,omitempty"`
	// Canceled says that the caller's context had ended before the call.
	Canceled bool `json:"canceled,omitempty"`
	// Of is the request that is to be cancelled.
	Of int64 `json:"of,omitempty"`
}

// reply answers a request: with ok, or with the classes of its error.
type reply struct {
	ID      int64    `json:"id,omitempty"`
	OK      bool     `json:"ok,omitempty"`
	Errors  []string `json:"errors,omitempty"`
	Message string   `json:"message,omitempty"`

	Ready
	Identity   string              `json:"identity,omitempty"`
	Count      int                 `json:"count,omitempty"`
	Holder     string              `json:"holder,omitempty"` // who holds the lock: an identity, or PROCESS/THREAD
	Token      uint64              `json:"token,omitempty"`
	LeaseNS    int64               `json:"lease_ns,omitempty"`
	Renewed    bool                `json:"renewed,omitempty"`
	ValidNS    int64               `json:"valid_ns,omitempty"` // of the hold's validity that is left; below 0 when it is over
	Hold       int64               `json:"hold,omitempty"`     // the acquire that began the present hold
	Lost       bool                `json:"lost,omitempty"`     // the present hold is known to be lost
	Goroutines []string            `json:"goroutines,omitempty"`
	Locks      []locks.Description `json:"locks,omitempty"`

	// When the operation began and ended by the process's own clock, since it
	// was greeted.
	BeganNS int64 `json:"began_ns,omitempty"`
	EndedNS int64 `json:"ended_ns,omitempty"`

	line []byte    // as it was read
	sent time.Time // when its request was
}

const eventLost = "lost"

// message is a line from the process: a reply or, where Event is set, an event
// that concerns a hold of an owner.
type message struct {
	Event  string `json:"event,omitempty"`
	Lock   string `json:"lock,omitempty"`
	Thread string `json:"thread,omitempty"`
	reply
}

// messages says how strictly messages are read: a key that comes twice may mean
// a grant or not. Fields of later versions are let pass.
var messages = input.JSON{Unknown: true, Null: true}

// decode reads a line from the process. Whatever is wrong with it, it is an
// error: nothing is guessed from a message that may mean a grant.
func decode(line []byte) (message, error) {
	var m message
	if err := messages.Unmarshal(line, &m); err != nil {
		return message{}, fmt.Errorf("it is no message: %w", err)
	}
	m.line = bytes.Clone(line)
	return m, m.check()
}

func (m message) check() error {
	switch {
	case m.Event != "" && m.ID != 0:
		return errors.New("it is both an event and a reply")
	case m.Event != "" && m.Event != eventLost:
		return fmt.Errorf("%q is not an event", m.Event)
	case m.Event != "" && (m.Lock == "" || m.Hold <= 0):
		return errors.New(`an event needs "lock" and "hold"`)
	case m.Event != "":
		return nil
	case m.ID <= 0:
		return errors.New(`a reply needs the "id" of its request`)
	case m.OK == (len(m.Errors) > 0):
		return errors.New(`a reply is either "ok" or has "errors"`)
	case m.Count < 0 || m.LeaseNS < 0 || m.Hold < 0:
		return errors.New("a number is negative")
	}
	for _, c := range m.Errors {
		if _, ok := classes[c]; !ok {
			return fmt.Errorf("%q is not a class of errors", c)
		}
	}
	return nil
}

// decodeRequest reads a line from the harness. Fields that this version does
// not know are left alone.
func decodeRequest(line []byte) (request, error) {
	var r request
	if err := messages.Unmarshal(line, &r); err != nil {
		return request{}, fmt.Errorf("it is no request: %w", err)
	}
	if r.ID <= 0 || r.Do == "" {
		return request{}, errors.New(`a request needs "id" and "do"`)
	}
	if r.Do == doHello && r.Hello == nil {
		return request{}, errors.New(`a hello needs "hello"`)
	}
	return r, nil
}
