// Package spacetime derives three things from a history: the messages between
// processes and servers, the role of each server, and the end of each lease. It
// draws nothing.
package spacetime

import (
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/checker/history"
)

// Kind is the content of an [Arrow].
type Kind string

// The kinds of arrow.
const (
	Request     Kind = "request"
	Reply       Kind = "reply"
	Replication Kind = "replication"
)

// Arrow is a message from one process to another. A history has no messages, only
// their effects: a request arrives where a server changed.
type Arrow struct {
	Kind          Kind
	From, To      string // a client or a node
	Owner         string // of a request or reply; "" for unknown
	Key           string
	Sent, Arrived int64 // of a lost arrow, Arrived is when the loss became known
	Lost          bool
	Grants        string // the holder after the message; "" for nobody
	Op            int64
}

// Role is the role of a node from a moment on.
type Role struct {
	From     int64
	Primary  bool
	Promoted bool // a fault promoted it; false for the role at the start
}

// Picture is the result of [Of].
type Picture struct {
	Arrows []Arrow // by Sent
	// Roles has the roles of every node in the history, in order.
	Roles map[string][]Role
	h     *history.History
}

// Of reads a history. It needs events in time order, as every valid history has.
func Of(h *history.History) Picture {
	p := Picture{Roles: map[string][]Role{}, h: h}
	p.findRoles()
	p.findRequests()
	p.findReplication()
	slices.SortStableFunc(p.Arrows, func(a, b Arrow) int {
		switch {
		case a.Sent < b.Sent:
			return -1
		case a.Sent > b.Sent:
			return 1
		}
		return 0
	})
	return p
}

// group identifies a node together with its replicas.
func group(node string) string {
	if i := strings.Index(node, "-replica-"); i > 0 {
		return node[:i]
	}
	return node
}

// SameGroup reports whether two nodes are a primary and its replicas.
func SameGroup(a, b string) bool { return group(a) == group(b) }

// findRoles follows the roles in server events, and the promotions by faults.
func (p *Picture) findRoles() {
	promotes := map[int]bool{}
	for _, f := range p.h.Header.Faults {
		promotes[f.ID] = f.Traits.Promotes
	}
	set := func(node string, at int64, primary, promoted bool) {
		all := p.Roles[node]
		if n := len(all); n > 0 && all[n-1].Primary == primary {
			return
		}
		p.Roles[node] = append(all, Role{From: at, Primary: primary, Promoted: promoted})
	}
	begin := int64(0)
	for i := range p.h.Events {
		e := &p.h.Events[i]
		switch {
		case e.Server != nil && e.Kind == history.Server:
			s := e.Server
			primary := s.Role != "replica"
			if len(p.Roles[s.Node]) == 0 {
				set(s.Node, begin, primary, false)
			}
			set(s.Node, e.Time, primary, primary)
		case e.Fault != nil && e.Kind == history.Fault:
			for _, t := range e.Fault.Targets {
				if strings.Contains(t, "-replica-") && len(p.Roles[t]) == 0 {
					set(t, begin, false, false)
				}
			}
			if !promotes[e.Fault.ID] || e.Fault.Phase != history.PhaseStart {
				continue
			}
			old, promoted := Promotion(p.h, e)
			if promoted == "" {
				continue
			}
			if len(p.Roles[promoted]) == 0 {
				set(promoted, begin, false, false)
			}
			if len(p.Roles[old]) == 0 {
				set(old, begin, true, false)
			}
			set(promoted, e.Time, true, true)
		}
	}
}

// Promotion names the node that loses the role of primary to a fault, and the
// node that gets it. The fault targets the first. Its detail names the second;
// otherwise it is the first other node that was a replica and later acts as a
// primary.
func Promotion(h *history.History, fault *history.Event) (old, promoted string) {
	if len(fault.Fault.Targets) == 0 {
		return "", ""
	}
	old = fault.Fault.Targets[0]
	words := strings.FieldsFunc(fault.Fault.Detail, func(r rune) bool { return r == ' ' || r == ',' || r == ';' })
	if i := slices.Index(words, "promoted"); i > 0 {
		return old, words[i-1]
	}
	replica := map[string]bool{}
	for i := range h.Events {
		x := &h.Events[i]
		if x.Kind != history.Server || x.Server == nil || x.Server.Node == old {
			continue
		}
		if s := x.Server; s.Role == "replica" {
			replica[s.Node] = true
		} else if x.Time >= fault.Time && replica[s.Node] {
			return old, s.Node
		}
	}
	return old, ""
}

// ReplicaAt reports whether a node is a replica at a time.
func (p *Picture) ReplicaAt(node string, at int64) bool {
	replica := false
	for _, r := range p.Roles[node] {
		if r.From <= at {
			replica = !r.Primary
		}
	}
	return replica
}

// changesHolder reports whether an event gives the lock to somebody else, or to
// nobody.
func changesHolder(s *history.ServerEvent) bool { return s.Holder != s.WasHolder }

// findReplication connects every change on a primary with the same change on each
// of its replicas. A change is lost if the replica becomes primary without it, or
// has moved to another state.
func (p *Picture) findReplication() {
	events := p.h.Events
	for i := range events {
		e := &events[i]
		s := e.Server
		if e.Kind != history.Server || s == nil || s.Role == "replica" || s.Cause != "command" || !changesHolder(s) {
			continue
		}
		for _, node := range p.nodes() {
			if node == s.Node || !SameGroup(node, s.Node) || !p.ReplicaAt(node, e.Time) {
				continue
			}
			a := Arrow{Kind: Replication, From: s.Node, To: node, Key: s.Key, Sent: e.Time, Grants: s.Holder}
			at, lost, ok := p.arrives(i, node)
			if !ok {
				continue
			}
			a.Arrived, a.Lost = at, lost
			p.Arrows = append(p.Arrows, a)
		}
	}
}

// arrives finds the change of event i on a replica. ok is false if the history
// does not show its fate.
func (p *Picture) arrives(i int, node string) (at int64, lost, ok bool) {
	sent := p.h.Events[i].Server
	promoted := int64(-1)
	for _, r := range p.Roles[node] {
		if r.Primary && r.From > p.h.Events[i].Time {
			promoted = r.From
			break
		}
	}
	for j := i + 1; j < len(p.h.Events); j++ {
		e := &p.h.Events[j]
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

func (p *Picture) nodes() []string {
	all := make([]string, 0, len(p.Roles))
	for n := range p.Roles {
		all = append(all, n)
	}
	slices.Sort(all)
	return all
}

// findRequests connects every change by a client's command with the operation of
// that client, and the operation's return with its last change.
func (p *Picture) findRequests() {
	type call struct {
		invoke, done *history.Event
		last         *history.Event // the last change made in it
	}
	open := map[string][]*call{} // by client
	var all []*call
	byOp := map[int64]*call{}
	for i := range p.h.Events {
		e := &p.h.Events[i]
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
			a := Arrow{Kind: Request, From: s.By, To: s.Node, Key: s.Key, Sent: max(0, e.Time-p.h.Header.Latency), Arrived: e.Time, Grants: s.Holder}
			for _, c := range open[s.By] {
				if who := s.Holder + s.WasHolder; !strings.Contains(who, c.invoke.Owner) {
					continue
				}
				a.Owner, a.Op = c.invoke.Owner, c.invoke.Op
				a.Sent = max(a.Sent, c.invoke.Time)
				if c.invoke.F == history.Release || c.invoke.Args == nil || c.invoke.Args.Wait == 0 {
					a.Sent = c.invoke.Time // it waits for nothing
				}
				c.last = e
			}
			p.Arrows = append(p.Arrows, a)
		}
	}
	for _, c := range all {
		if c.last == nil {
			continue
		}
		a := Arrow{Kind: Reply, From: c.last.Server.Node, To: c.invoke.Client, Owner: c.invoke.Owner, Key: c.last.Server.Key, Sent: c.last.Time, Grants: c.last.Server.Holder, Op: c.invoke.Op}
		switch {
		case c.done == nil:
			a.Arrived, a.Lost = p.h.Events[len(p.h.Events)-1].Time, true
		case c.done.Kind == history.OK:
			a.Arrived = c.done.Time
		default: // the caller does not have what the server did
			a.Arrived, a.Lost = c.done.Time, true
		}
		if a.Arrived >= a.Sent {
			p.Arrows = append(p.Arrows, a)
		}
	}
}

// LeaseEnd is when the lease of a hold ends by the clock of the servers if nobody
// releases it. The last renewal determines the end. Without a server's event it
// follows from the acquire. It is 0 for a hold without a lease.
func (p *Picture) LeaseEnd(c *checker.Belief) int64 {
	end := int64(0)
	if c.Lease > 0 {
		end = c.From + c.Lease
	}
	for i := range p.h.Events {
		e := &p.h.Events[i]
		if e.Time > c.To {
			break
		}
		s := e.Server
		if e.Kind != history.Server || s == nil || s.Holder != c.Owner || s.TTL <= 0 || s.Cause != "command" {
			continue
		}
		end = max(end, e.Time+s.TTL)
	}
	return end
}
