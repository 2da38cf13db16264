package checker

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/party"
)

// faultSpan is one strike of a fault.
type faultSpan struct {
	history.Traits
	clients  []string
	nodes    []string // everything listed that is not a client
	promoted string   // the server that took their place, if the history names it
	from, to int64
	open     bool // it lasted to the end
	lasted   bool // it is not one that is over at once
}

// faultLog has what the faults of a history did, and when.
type faultLog struct {
	faults []*faultSpan // by start
	healed ends         // of faults
	struck map[strike]int64
	pace   allowances
}

func newFaultLog(x *index) *faultLog {
	t := &faultLog{faults: faultSpans(x.h, x.allow.settling), struck: map[strike]int64{}, pace: x.allow}
	for _, f := range t.faults {
		f.nodes = x.joinedNodes(f.nodes)
		t.healed.addEnd(f.to)
	}
	return t
}

// faultSpans leaves out the clocks of clients: no lock must depend on them, so they excuse
// nothing. See [trace.excuseClocks] for the locks that do.
func faultSpans(h *history.History, settling int64) []*faultSpan {
	var spans []*faultSpan
	for _, x := range h.Strikes() {
		if x.Failed() || x.MovesClientClock {
			continue
		}
		s := &faultSpan{Traits: x.Traits, promoted: x.Promoted, from: x.From, to: x.To, open: x.Open(), lasted: x.Lasts || x.Ended && x.To > x.From}
		if x.Instant && !x.Ended {
			s.to = min(s.from+settling, h.Events[len(h.Events)-1].Time)
		}
		for _, target := range x.Targets {
			for _, name := range names(target) {
				if party.IsClient(name) {
					s.clients = append(s.clients, name)
				} else {
					s.nodes = append(s.nodes, name)
				}
			}
		}
		spans = append(spans, s)
	}
	return spans
}

// names splits a target such as "client-1 -> node-1" into its names.
func names(target string) []string {
	fields := strings.FieldsFunc(target, func(r rune) bool { return strings.ContainsRune(" ,|<>=:;/", r) })
	var out []string
	for _, f := range fields {
		if f = strings.Trim(f, "-"); f != "" {
			out = append(out, f)
		}
	}
	return out
}

// touchesClient reports whether a fault may disturb a client: it names the client,
// or no client at all and so disturbs everyone.
func (s *faultSpan) touchesClient(client string) bool {
	return len(s.clients) == 0 || slices.Contains(s.clients, client)
}

// touchesPrimary reports whether a fault may disturb the server that a group begins
// with. No server takes the place of a replica that stops.
func (s *faultSpan) touchesPrimary(group string) bool {
	return len(s.nodes) == 0 || slices.ContainsFunc(s.nodes, func(n string) bool { return n == group || !party.IsServer(n) })
}

// touchesGroup reports whether a fault may disturb the servers of a group. A
// target that is not a server's own name, such as "primary", may be any.
func (s *faultSpan) touchesGroup(group string) bool {
	for _, n := range s.nodes {
		if party.First(n) == group || !party.IsServer(n) {
			return true
		}
	}
	return len(s.nodes) == 0 && len(s.clients) == 0
}

// touchesLink reports whether a fault may disturb the messages between a client and
// the servers of a group.
func (s *faultSpan) touchesLink(client, group string) bool {
	return s.touchesClient(client) && (len(s.nodes) == 0 || s.touchesGroup(group))
}

// groups lists the groups of servers that a fault disturbs, each once; nil when
// it may disturb any.
func (s *faultSpan) groups() []string {
	var groups []string
	for _, n := range s.nodes {
		if !party.IsServer(n) {
			return nil
		}
		if g := party.First(n); !slices.Contains(groups, g) {
			groups = append(groups, g)
		}
	}
	return groups
}

// overlap is the part of [from, to] that the selected faults cover, each extended
// by extra.
func (l *faultLog) overlap(from, to, extra int64, pick func(*faultSpan) bool) int64 {
	return l.overlapBy(from, to, extra, func(*faultSpan) int64 { return extra }, pick)
}

// disturbance is the part of [from, to] in which the selected faults may disturb a
// client: while they last, and until it tries again.
func (l *faultLog) disturbance(from, to int64, pick func(*faultSpan) bool) int64 {
	return l.overlapBy(from, to, pauseOfDial, func(f *faultSpan) int64 {
		if f.Refuses || f.StopsNode {
			return pauseOfDial
		}
		return pauseOfClient
	}, pick)
}

// overlapBy is overlap with faults that are extended by different times, none by
// more than most.
func (l *faultLog) overlapBy(from, to, most int64, extra func(*faultSpan) int64, pick func(*faultSpan) bool) int64 {
	var parts [][2]int64
	for i := l.healed.lastBefore(l.faultsBefore(to), from-most); i >= 0; i = l.healed.lastBefore(i, from-most) {
		s := l.faults[i]
		if a, b := max(s.from, from), min(plus(s.to, extra(s)), to); a < b && pick(s) {
			parts = append(parts, [2]int64{a, b})
		}
	}
	slices.SortFunc(parts, func(a, b [2]int64) int { return cmp.Compare(a[0], b[0]) })
	var sum, reached int64
	reached = from
	for _, p := range parts {
		if p[1] > reached {
			sum += p[1] - max(p[0], reached)
			reached = p[1]
		}
	}
	return sum
}

// heldBack is since when a fault may have delayed a client's request that reached a
// group of servers at a time. It is that time if none did. A request also waits for the
// replies to the greeting of a new connection, so a fault on replies delays it too. A
// server that refuses connections delays it for as long as go-redis dials again.
func (l *faultLog) heldBack(client, group string, when int64) int64 {
	since := when - l.pace.underway - l.pace.machine
	for _, f := range l.faults[:l.faultsBefore(when)] {
		switch {
		case !f.touchesLink(client, group) || plus(f.to, l.pace.underway) < when:
		case f.holdsMessages() && !f.sparesRequests():
			since = min(since, f.from)
		case f.Refuses || f.StopsNode:
			since = min(since, max(f.from, when-pauseOfDial))
		}
	}
	return since
}

// clockFault reports whether the clock of a group's servers was moved by then.
func (l *faultLog) clockFault(group string, by int64) bool {
	return l.struckBy(by, "clock", group, func(s *faultSpan) bool { return s.MovesClock && s.touchesGroup(group) })
}

// clockMoved reports whether the clock of any server was moved by then.
func (l *faultLog) clockMoved(by int64) bool {
	return slices.ContainsFunc(l.faults, func(f *faultSpan) bool { return f.from <= by && f.MovesClock })
}

// replaced reports whether another server may have taken the place of one of a
// group by then.
func (l *faultLog) replaced(group string, by int64) bool {
	return l.struckBy(by, "replaces", group, func(f *faultSpan) bool {
		return f.touchesGroup(group) && f.replacesServer() && (f.Promotes || f.touchesPrimary(group))
	})
}

// stillAnswers reports whether the server of a group that answered clients at a time
// is the only one that does so until another time. After a promotion another one
// answers, and in a fork either one may. A server that stopped and came back is the
// same: its log says what it has carried out.
func (l *faultLog) stillAnswers(group string, from, to int64) bool {
	return !slices.ContainsFunc(l.faults, func(f *faultSpan) bool {
		return f.from <= to && f.touchesGroup(group) && (f.Forks || f.Promotes && f.from >= from)
	})
}

// forkedBy reports whether two servers of a group may have answered at once by then.
func (l *faultLog) forkedBy(group string, by int64) bool {
	return slices.ContainsFunc(l.faults, func(f *faultSpan) bool { return f.Forks && f.from <= by && f.touchesGroup(group) })
}

// disturbed reports whether a server of a group may have missed commands or have
// been replaced by then.
func (l *faultLog) disturbed(group string, by int64) bool {
	return l.struckBy(by, "disturbs", group, func(s *faultSpan) bool {
		return s.touchesGroup(group) && (s.replacesServer() || s.Cuts || s.HoldsReplication || s.MovesClock)
	})
}

func (l *faultLog) faultsBefore(when int64) int {
	return sort.Search(len(l.faults), func(i int) bool { return l.faults[i].from >= when })
}

// strike is a kind of faults, and their client or group.
type strike struct{ kind, target string }

// struckBy reports whether a fault of a kind has struck by a time, which may be never.
// The same kind and target always come with the same pick.
func (l *faultLog) struckBy(by int64, kind, target string, pick func(*faultSpan) bool) bool {
	k := strike{kind, target}
	when, known := l.struck[k]
	if !known {
		when = never
		if i := slices.IndexFunc(l.faults, pick); i >= 0 {
			when = l.faults[i].from
		}
		l.struck[k] = when
	}
	return when != never && when <= by
}

// The questions of the judges about a fault. Each question is about all of its traits: a
// fault with a trait that a question does not name is never taken for harmless.

func (s *faultSpan) only(t history.Traits) bool {
	t.Instant, t.Lasts, t.CancelsFirst = s.Instant, s.Lasts, s.CancelsFirst
	return s.Traits == t
}

// These select faults for a client, as [faultLog.overlap] takes them.

func anyFault(*faultSpan) bool { return true }

func touches(client string) func(*faultSpan) bool {
	return func(f *faultSpan) bool { return f.touchesClient(client) }
}

func stops(client string) func(*faultSpan) bool {
	return func(f *faultSpan) bool { return f.StopsProcess && f.touchesClient(client) }
}

// delays selects the faults that may delay a client's renewals. A forgotten script
// costs only a round trip, and is no excuse.
func delays(client string) func(*faultSpan) bool {
	return func(f *faultSpan) bool { return f.touchesClient(client) && !f.sparesRenewals() }
}

// disturbs selects the faults that excuse a waiter. Lost notices and late
// subscriptions do not: the promised hand-off must cope with them.
func disturbs(client string) func(*faultSpan) bool {
	return func(f *faultSpan) bool { return f.touchesClient(client) && !f.sparesRequests() }
}

// onlyStops reports whether a fault stops a process for a while, and does nothing else.
func (s *faultSpan) onlyStops() bool { return s.only(history.Traits{StopsProcess: true}) }

// sparesRequests reports whether a fault disturbs messages to subscribers at most, or ends
// the call of one owner.
func (s *faultSpan) sparesRequests() bool {
	return s.only(history.Traits{LosesNotices: s.LosesNotices, HoldsSubscriptions: s.HoldsSubscriptions, Cancels: s.Cancels})
}

// sparesRenewals reports whether a fault blocks no renewal: it costs a client at
// most a round trip.
func (s *faultSpan) sparesRenewals() bool {
	return s.only(history.Traits{
		LosesNotices: s.LosesNotices, HoldsSubscriptions: s.HoldsSubscriptions, Cancels: s.Cancels, ForgetsScripts: s.ForgetsScripts,
	})
}

// sparesPrimary reports whether a fault blocks no request from its execution on
// the primary. It may block replication.
func (s *faultSpan) sparesPrimary() bool {
	return s.sparesRenewals() || s.only(history.Traits{HoldsReplication: true, Cuts: s.Cuts})
}

// holdsMessages reports whether messages between clients and servers arrive late.
func (s *faultSpan) holdsMessages() bool { return s.HoldsRequests || s.HoldsReplies }

// keepsReplies reports whether a client may miss the reply of a server: it comes
// late or never, or the client is stopped.
func (s *faultSpan) keepsReplies() bool {
	return s.HoldsReplies || s.LosesReplies || s.BreaksConnections || s.StopsProcess
}

// replacesServer reports whether another server may answer for a group afterwards.
func (s *faultSpan) replacesServer() bool { return s.Promotes || s.StopsNode }
