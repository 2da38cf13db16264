package draw

import (
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/party"
)

// Phase is the present activity of a client.
type Phase string

// The phases of a client. The server events have the servers' part.
const (
	AcquireSent     Phase = "acquire sent"     // and no owner holds the lock
	AcquireExecuted Phase = "acquire executed" // a server has taken the lock for it; it does not know yet
	AcquireReplied  Phase = "acquire replied"  // its owner has just got the reply
	Waiting         Phase = "waiting"          // while somebody else holds the lock
	Holding         Phase = "holding"
	Renewing        Phase = "renewing" // a renewal is at a server, or just was
	ReleaseSent     Phase = "release sent"
	ReleaseExecuted Phase = "release executed"
	Idle            Phase = "idle"
)

// Phases lists the phases, in the order of an operation's life.
var Phases = []Phase{AcquireSent, AcquireExecuted, AcquireReplied, Waiting, Holding, Renewing, ReleaseSent, ReleaseExecuted, Idle}

func Possible(fault string, p Phase) bool {
	// Between operations there is nothing to cancel.
	return !traits(fault).Cancels || slices.Contains([]Phase{AcquireSent, AcquireExecuted, Waiting, ReleaseSent, ReleaseExecuted}, p)
}

const (
	// just is for how long an event has just happened.
	just = int64(time.Millisecond)
	// polls is the longest time between two tries of a client that polls.
	polls = int64(1600 * time.Millisecond)
)

// clientState is the state of a client in the part of the history read so far.
type clientState struct {
	f        history.Func // of the lock operation it is in, "" outside
	executed bool         // a server has done what the operation asks for
	held     int
	replied  int64 // when it was last granted the lock
	refused  int64 // when a try of a client that polls was refused; -1 for never since
	gone     bool
}

// reader reads a history event by event.
type reader struct {
	h       *history.History
	next    int
	clients map[string]*clientState
	names   []string          // of the clients, sorted
	holder  map[string]string // server -> the client that took what it has
}

func newReader(h *history.History) *reader {
	r := &reader{h: h, clients: map[string]*clientState{}, holder: map[string]string{}}
	for _, e := range h.Events {
		if e.Kind == history.Invoke && r.clients[e.Client] == nil {
			r.clients[e.Client] = &clientState{replied: -just - 1, refused: -1}
			r.names = append(r.names, e.Client)
		}
	}
	slices.Sort(r.names)
	return r
}

func (r *reader) read() {
	e := &r.h.Events[r.next]
	r.next++
	if e.Kind == history.Server {
		r.server(e.Server)
		return
	}
	p := r.clients[e.Client]
	if p == nil {
		return
	}
	switch {
	case e.Kind == history.Note && e.F == history.Crashed:
		p.gone = true
	case e.Kind == history.Note && e.F == history.Lost:
		p.held = 0
	case e.F != history.Acquire && e.F != history.Release:
	case e.Kind == history.Invoke:
		p.f, p.executed, p.refused = e.F, false, -1
	default:
		p.returned(e)
	}
}

func (p *clientState) returned(e *history.Event) {
	p.f = ""
	switch {
	case e.F == history.Acquire && e.Kind == history.OK:
		p.held++
		p.replied = e.Time
	case e.F == history.Acquire:
		p.refused = e.Time
	case e.Kind == history.OK:
		p.held = max(0, p.held-1)
	default:
		p.held = 0
	}
}

func (r *reader) server(s *history.ServerEvent) {
	p := r.clients[s.By]
	if s.Holder == "" {
		delete(r.holder, s.Node)
	} else if s.Cause == "command" && s.Holder != s.WasHolder {
		r.holder[s.Node] = s.By
	}
	if p == nil || s.Cause != "command" {
		return
	}
	took := s.Holder != "" && (s.Holder != s.WasHolder || s.Count > s.WasCount)
	gave := s.WasHolder != "" && (s.Holder == "" || s.Count < s.WasCount)
	if p.f == history.Acquire && took || p.f == history.Release && gave {
		p.executed = true
	}
}

// phase is the present phase of a client; "" after its crash.
func (r *reader) phase(client string, now int64) Phase {
	p := r.clients[client]
	switch {
	case p.gone:
		return ""
	case p.f == history.Acquire && p.executed:
		return AcquireExecuted
	case p.f == history.Acquire && r.taken(client):
		return Waiting
	case p.f == history.Acquire:
		return AcquireSent
	case p.f == history.Release && p.executed:
		return ReleaseExecuted
	case p.f == history.Release:
		return ReleaseSent
	case p.held > 0 && now-p.replied <= just:
		return AcquireReplied
	case p.held > 0 && r.renewing(client, now):
		return Renewing
	case p.held > 0:
		return Holding
	case p.refused >= 0 && now-p.refused <= polls && r.taken(client):
		return Waiting
	}
	return Idle
}

// taken reports whether some server has the lock for another client.
func (r *reader) taken(client string) bool {
	for _, by := range r.holder {
		if by != client {
			return true
		}
	}
	return false
}

// renewing reports whether a command of the client, outside its operations,
// extends its hold just before or after now.
func (r *reader) renewing(client string, now int64) bool {
	renews := func(e *history.Event) bool {
		s := e.Server
		return e.Kind == history.Server && s.By == client && s.Cause == "command" && s.Holder != "" && s.Holder == s.WasHolder && s.TTL > s.WasTTL
	}
	for i := r.next - 1; i >= 0 && r.h.Events[i].Time >= now-just; i-- {
		if renews(&r.h.Events[i]) {
			return true
		}
	}
	for i := r.next; i < len(r.h.Events) && r.h.Events[i].Time <= now+just; i++ {
		if renews(&r.h.Events[i]) {
			return true
		}
	}
	return false
}

// struck are the clients of a fault: those that it names, or all.
func (r *reader) struck(f *history.FaultEvent) []string {
	var some []string
	for _, t := range f.Targets {
		if party.IsClient(t) && r.clients[t] != nil {
			some = append(some, t)
		}
	}
	if some == nil {
		return r.names
	}
	return some
}
