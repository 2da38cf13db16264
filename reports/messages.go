package reports

import (
	"cmp"
	"maps"
	"slices"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/party"
	"github.com/holdfast-go/holdfast/internal/story"
)

type messageKind string

const (
	request     messageKind = "request"
	reply       messageKind = "reply"
	replication messageKind = "replication"
)

// message is a message from one process to another. A history has no messages, only
// their effects: a request arrives where a server changed.
type message struct {
	kind          messageKind
	from, to      string // a client or a server
	owner         string // of a request or reply; "" for unknown
	key           string
	sent, arrived int64 // of a lost message, arrived is when the loss became known
	lost          bool
	grants        string // the holder after the message; "" for a free lock
	op            int64
}

// messagesIn derives the messages of a history, in the order in which they were sent.
// It needs events in time order, as every valid history has.
func messagesIn(h *history.History, roles map[string][]story.Role) []message {
	all := append(requestsIn(h), replicationIn(h, roles)...)
	slices.SortStableFunc(all, func(a, b message) int { return cmp.Compare(a.sent, b.sent) })
	return all
}

// changesHolder reports whether an event gives the lock to another owner, or frees it.
func changesHolder(s *history.ServerEvent) bool { return s.Holder != s.WasHolder }

// replicationIn connects every change on a primary with the same change on each
// of its replicas. A change is lost if the replica becomes primary without it, or
// has moved to another state.
func replicationIn(h *history.History, roles map[string][]story.Role) []message {
	var all []message
	nodes := slices.Sorted(maps.Keys(roles))
	for i := range h.Events {
		e := &h.Events[i]
		s := e.Server
		if e.Kind != history.Server || s == nil || s.Role == "replica" || s.Cause != "command" || !changesHolder(s) {
			continue
		}
		for _, node := range nodes {
			if node == s.Node || party.First(node) != party.First(s.Node) || !story.IsReplica(roles[node], e.Time) {
				continue
			}
			if at, lost, ok := arrival(h.Events[i:], node, roles[node]); ok {
				all = append(all, message{kind: replication, from: s.Node, to: node, key: s.Key, sent: e.Time, grants: s.Holder, arrived: at, lost: lost})
			}
		}
	}
	return all
}

// arrival finds the change of the first event on a replica. ok is false if the history
// does not show its fate.
func arrival(events []history.Event, node string, roles []story.Role) (at int64, lost, ok bool) {
	sent := events[0].Server
	promoted := int64(-1)
	if i := slices.IndexFunc(roles, func(r story.Role) bool { return r.Primary && r.From > events[0].Time }); i >= 0 {
		promoted = roles[i].From
	}
	for i := range events[1:] {
		e := &events[1+i]
		if promoted >= 0 && e.Time >= promoted {
			return promoted, sent.Holder != "", sent.Holder != ""
		}
		s := e.Server
		if e.Kind != history.Server || s == nil || s.Key != sent.Key {
			continue
		}
		switch {
		case s.Node == node && s.Cause == "replication":
			return e.Time, false, s.Holder == sent.Holder
		case s.Node == sent.Node && s.Cause == "command" && changesHolder(s):
			return 0, false, false // superseded on the way
		}
	}
	return 0, false, false
}

// call is an acquire or a release, and the last change that a server made for it.
type call struct {
	invoke, done, last *history.Event
}

// requestsIn connects every change by a client's command with the operation of
// that client, and the operation's return with its last change.
func requestsIn(h *history.History) []message {
	var out []message
	open := map[string][]*call{} // by client
	var all []*call
	byOp := map[int64]*call{}
	for i := range h.Events {
		e := &h.Events[i]
		switch e.Kind {
		case history.Invoke:
			if e.F == history.Acquire || e.F == history.Release {
				c := &call{invoke: e}
				open[e.Client] = append(open[e.Client], c)
				all, byOp[e.Op] = append(all, c), c
			}
		case history.OK, history.Fail, history.Info:
			if c := byOp[e.Op]; c != nil {
				c.done = e
				open[e.Client] = slices.DeleteFunc(open[e.Client], func(o *call) bool { return o == c })
			}
		case history.Server:
			s := e.Server
			if s == nil || s.Cause != "command" || s.By == "" || !changesHolder(s) {
				continue
			}
			m := message{kind: request, from: s.By, to: s.Node, key: s.Key, sent: max(0, e.Time-h.Header.Latency), arrived: e.Time, grants: s.Holder}
			for _, c := range open[s.By] {
				if c.invoke.Owner == s.Holder || c.invoke.Owner == s.WasHolder {
					m.requestedBy(c)
					c.last = e
				}
			}
			out = append(out, m)
		}
	}
	for _, c := range all {
		if c.last != nil {
			if m := c.reply(h); m.arrived >= m.sent {
				out = append(out, m)
			}
		}
	}
	return out
}

// requestedBy connects a request with its operation.
func (m *message) requestedBy(c *call) {
	m.owner, m.op = c.invoke.Owner, c.invoke.Op
	m.sent = max(m.sent, c.invoke.Time)
	if c.invoke.F == history.Release || c.invoke.Args == nil || c.invoke.Args.Wait == 0 {
		m.sent = c.invoke.Time // it waits for nothing
	}
}

// reply is the answer to an operation. It is lost if the caller does not have what the
// server did.
func (c *call) reply(h *history.History) message {
	s := c.last.Server
	m := message{kind: reply, from: s.Node, to: c.invoke.Client, owner: c.invoke.Owner, key: s.Key, sent: c.last.Time, grants: s.Holder, op: c.invoke.Op}
	m.arrived = h.Events[len(h.Events)-1].Time
	if c.done != nil {
		m.arrived = c.done.Time
	}
	m.lost = c.done == nil || c.done.Kind != history.OK
	return m
}
