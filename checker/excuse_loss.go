package checker

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/party"
)

// lossOfHold describes how the granting servers lost a hold, without the lock's doing.
type lossOfHold struct {
	groups, needed int    // that lost it, and that had to for another owner to be granted
	from, at       int64  // when the first of them may have, and when so many of them had
	unconfirmed    bool   // fewer replicas had it than the lock promises to wait for
	forked         bool   // the server that its client talks to may still have it
	how            string // in words
}

// notLost is the loss of a hold that the servers kept.
var notLost = lossOfHold{needed: 1}

// lost reports whether so many servers lost the hold that another owner could get it.
func (l lossOfHold) lost() bool { return l.groups >= l.needed }

// lossOf finds the servers that had lost a belief when another one was granted.
// Such a server forgot the belief, gave way to a server without it, or ended its
// lease early by its clock. A group counts once.
func (t *trace) lossOf(c *Belief, by int64) lossOfHold {
	if when, how := t.endOfSession(c, by); how != "" {
		return lossOfHold{groups: 1, needed: 1, at: when, how: how}
	}
	if len(t.changes) == 0 {
		return t.lossByTraits(t.op(c.AcquireOp).inv, by)
	}
	l := losing{trace: t, c: c, o: t.op(c.AcquireOp), on: map[string]copyOfHold{}, granted: map[string]*change{}, lost: map[string]int64{}}
	for _, s := range l.o.own.changes.between(l.o.inv, by) {
		l.followChange(s)
	}
	for _, s := range t.accountOf(ownerLock{"", c.Lock}).changes.between(l.o.inv, by) {
		if s.command() && s.holder != c.Owner && l.granted[s.group] != nil && (s.grants() || t.grantsAgain(s) || t.claims.Capacity() > 1 && s.takes()) {
			l.grantedAnother(s)
		}
	}
	l.groups, l.needed = len(l.lost), max(1, len(l.granted)-(t.claims.Nodes-t.claims.Quorum))
	if when := slices.Sorted(maps.Values(l.lost)); len(when) > 0 {
		l.at = when[min(l.needed, len(when))-1]
	}
	for group := range l.lost {
		if t.claims.Acks > 0 && t.countConfirmed(group, l.o) < t.claims.Acks {
			l.unconfirmed = true
		}
	}
	return l.lossOfHold
}

type losing struct {
	*trace
	lossOfHold
	c       *Belief
	o       *op                   // its acquire
	on      map[string]copyOfHold // by server
	granted map[string]*change    // groups, with the last command that left them the hold
	lost    map[string]int64      // groups, with the time
}

type copyOfHold struct {
	due   int64  // when it was to end, by its last change
	ended string // the cause of its end; empty while the server has it
}

// loseGroup notes the first loss of a group that granted the hold.
func (l *losing) loseGroup(group string, when int64, format string, args ...any) {
	first, known := l.lost[group]
	if known && first <= when || l.granted[group] == nil {
		return
	}
	l.lost[group] = when
	if known || l.how == "" {
		l.how = fmt.Sprintf(format, args...)
	}
}

func (l *losing) followChange(s *change) {
	if s.holder == l.c.Owner {
		if s.t > l.c.From && l.handsOver(s) {
			l.on[s.Node] = copyOfHold{ended: "replication"} // this server did not have the hold of the belief
			return
		}
		if s.command() {
			l.granted[s.group] = s
			if s.grants() {
				delete(l.lost, s.group)
			}
		}
		due := s.expires()
		if had, known := l.on[s.Node]; known && had.ended == "" && (s.Cause == "restart" || s.keepsLease(l.allow.rounding)) {
			due = had.due // the server's clock has no part in it
		}
		l.on[s.Node] = copyOfHold{due: due}
		return
	}
	before, known := l.on[s.Node]
	if known && before.ended == "" || !known && s.Cause == "expiry" { // any other end is that of another hold of the owner
		l.on[s.Node] = copyOfHold{ended: s.Cause}
	}
	switch {
	case s.Role != "primary" && s.Cause != "command":
		l.on[s.Node] = copyOfHold{ended: "replication"} // the hold lives on where clients ask
	case s.takesBack(l.o), s.command() && s.By == l.c.Client && s.givesBack(l.c.Owner) && s.t < l.c.To && len(l.granted) > l.claims.Quorum:
		delete(l.granted, s.group) // a hold that a quorum has needs no more servers
	case !known || before.ended != "" || s.was != l.c.Owner:
	case s.Cause == "fault":
		l.loseGroup(s.group, s.t, "the hold was deleted from %s at %s, from outside", s.Node, at(s.t))
	case s.Cause == "restart":
		l.loseGroup(s.group, s.t, "%s came back without the hold at %s", s.Node, at(s.t))
	case s.Cause == "expiry" && before.due-s.t > l.driftOf(l.c.Lease) && l.clockFault(s.group, s.t):
		l.loseGroup(s.group, s.t, "the clock of %s ended the lease %s early, at %s", s.Node, long(before.due-s.t), at(s.t))
	}
}

// grantsAgain reports whether a server granted the lock to an owner whose earlier hold it
// still had. It took the place of another server, which had carried out the release.
func (t *trace) grantsAgain(s *change) bool {
	if s.holder == "" || s.holder != s.was || !t.replaced(s.group, s.t) {
		return false
	}
	k := ownerLock{s.holder, s.lock}
	ops := &t.accountOf(k).ops
	asked := ops.last(s.t, isAcquire)
	if asked == nil || asked.ret < s.t {
		return false
	}
	before := ops.last(asked.inv, func(o *op) bool { return o != asked && countKnownAfter(o) })
	return before != nil && before.f == history.Release && before.res.Count == 0
}

// grantedAnother finds out whether a server granted the lock to another owner because
// it replaces the server that had the hold.
func (l *losing) grantedAnother(s *change) {
	hold, has := l.on[s.Node]
	last := l.granted[s.group]
	expired := hold.ended == "expiry" || has && hold.ended == "" && hold.due <= s.t
	switch {
	case (!has || hold.ended == "replication") && l.replaced(s.group, s.t) && l.ownedElsewhere(ownerLock{l.c.Owner, l.c.Lock}, s):
		l.loseGroup(s.group, s.t, "%s, which answers in the place of another server, did not have the hold when it was asked at %s", s.Node, at(s.t))
		l.forked = l.forked || l.forkedBy(s.group, s.t)
	case expired && last.Node != s.Node && last.expires() > s.t && l.replaced(s.group, s.t):
		l.loseGroup(s.group, s.t, "%s had an earlier end of the hold than the servers had confirmed, when it was asked at %s", s.Node, at(s.t))
		l.forked = l.forked || l.forkedBy(s.group, s.t)
	}
}

// leftBehind describes the loss of a hold on a server that gave way to one without
// the hold, by a time. groups is 0 if there was none.
func (t *trace) leftBehind(c *Belief, by int64) (l lossOfHold) {
	if t.claims.Nodes > 1 || len(t.changes) == 0 {
		return l
	}
	own := t.op(c.AcquireOp).own
	for _, s := range own.changes.from(t.op(c.AcquireOp).inv) {
		if s.t > by || s.holder == c.Owner && l.groups > 0 {
			break
		}
		if !s.command() || s.holder != c.Owner {
			continue
		}
		for _, f := range t.faults {
			// A server goes on for a moment after the time that a fault is noted at.
			if !f.Promotes || plus(f.from, t.allow.rounding) < s.t || f.from > min(by, s.expires()) || !slices.Contains(f.nodes, s.Node) {
				continue
			}
			if !own.anyHeld(s.t, by, func(o *span) bool {
				return o.node == cmp.Or(f.promoted, o.node) && o.node != s.Node && o.group == s.group && o.to > f.from && !dropped(own, o) && !(o.from > c.From && t.handed(o)) && !missed(own, o, s, f.from)
			}) {
				l = lossOfHold{groups: 1, needed: 1, at: f.from, forked: f.Forks,
					how: fmt.Sprintf("another server took the place of %s at %s, and never had the hold", s.Node, at(f.from))}
				break
			}
		}
	}
	return l
}

// missed reports whether a server has a former hold of an owner, and never heard of the one
// that a command left on another server.
func missed(own *account, hold *span, command *change, by int64) bool {
	return own.anyHeld(command.t, command.t, func(o *span) bool {
		return o.node == command.Node && hold.from < o.from && !slices.ContainsFunc(own.changes.between(o.from, by), func(c *change) bool {
			return c.Node == hold.node
		})
	})
}

// dropped reports whether a replica's hold ended because its primary had none.
func dropped(own *account, o *span) bool {
	return slices.ContainsFunc(own.changes.between(o.to, o.to), func(c *change) bool {
		return c.Node == o.node && c.Role == "replica" && c.Cause == "replication" && c.ends()
	})
}

// ownedElsewhere reports whether another server of a change's group had granted a hold.
func (t *trace) ownedElsewhere(k ownerLock, s *change) bool {
	return slices.ContainsFunc(t.accountOf(k).changes.between(0, s.t), func(c *change) bool {
		return c.command() && c.holder == k.owner && c.group == s.group && c.Node != s.Node
	})
}

// countConfirmed counts the replicas of a group that got a hold before its acquire
// returned. A fault may have removed it since.
func (t *trace) countConfirmed(group string, o *op) int {
	var nodes []string
	for s := range o.own.heldAt(o.inv, o.ret) {
		if s.group == group && s.node != group && !slices.Contains(nodes, s.node) {
			nodes = append(nodes, s.node)
		}
	}
	return len(nodes)
}

// lossByTraits is lossOf without a server log, for a hold that was requested at since.
// It counts every group that a fault with the power to lose the hold has struck.
func (t *trace) lossByTraits(since, by int64) lossOfHold {
	l := lossOfHold{from: never, needed: max(1, (t.room()+1)*t.claims.Quorum-t.claims.Nodes*t.room())}
	groups := map[string]bool{}
	for _, f := range t.faults {
		if f.from > by || f.forgotUntil() < since || !(f.LosesWrites || f.Promotes || f.Forks || f.DeletesKeys || f.MovesClock && f.setsForth(by) > 0 || f.StopsNode) {
			continue
		}
		l.from, l.at, l.forked = min(l.from, f.from), max(l.at, f.from), l.forked || f.Forks
		l.how = fmt.Sprintf("a fault at %s may have cost the servers the hold", at(f.from))
		for _, n := range f.nodes {
			groups[party.First(n)] = true
		}
		if len(f.nodes) == 0 {
			l.groups = t.claims.Nodes
		}
	}
	l.groups = max(l.groups, len(groups))
	return l
}

// forgotUntil is when a fault no longer took data from servers. Servers may take each
// other's place for a while after a promotion. Two of them may answer until the fault is
// over, and for ever if nothing ends it.
func (s *faultSpan) forgotUntil() int64 {
	switch {
	case s.Forks && !s.lasted:
		return never
	case s.lasted || s.Promotes:
		return s.to
	}
	return s.from
}

// keptByClock is the time for which a server kept the hold of an acquire because a fault moved its
// clock, and the reason; 0 if no clock did. The movement bounds it.
func (t *trace) keptByClock(o *op) (kept int64, how string) {
	if o == nil || t.claims.Nodes > 1 {
		return 0, ""
	}
	next := t.untilNext(o)
	for s := range o.own.heldAt(o.inv, plus(next, t.allow.settling)) {
		if s.replica && !t.replaced(s.group, s.to) || !s.replica && s.from > next {
			continue
		}
		longer, to := int64(0), s.to
		for again := range o.own.heldAt(s.to, t.asksAgain(o).asked-1) {
			if again.node == s.node && again.from > s.to && slices.ContainsFunc(t.faults, func(f *faultSpan) bool { return f.MovesClock && f.from == again.from }) {
				to = max(to, again.to) // the lock keeps the end in a value, and it had passed
			}
		}
		for _, f := range t.faults {
			if !f.MovesClock || !f.touchesGroup(s.group) || f.from > to || f.to < s.from && !s.replica {
				continue
			}
			if s.replica { // it has the end of the lease from its primary, whose clock was ahead
				longer = plus(longer, f.setsForth(to))
				continue
			}
			longer = plus(longer, f.setsBack(s.from, to))
			how = fmt.Sprintf("a fault moved the clock of %s at %s, and it kept the hold of %s for longer than its lease", s.node, at(f.from), o.owner)
		}
		if longer > 0 {
			from := s.from
			if s.replica { // it has the hold since some time after the grant
				from = o.inv
				how = fmt.Sprintf("%s took the place of a server whose clock was ahead, and kept the hold of %s for longer than its lease", s.node, o.owner)
			}
			return min(to-from, plus(t.leaseOnServer(o, t.leaseOf(o)), longer)), how
		}
	}
	return 0, how
}

// setBackDuring is the time by which faults set clocks back during the hold of an acquire.
// The hold lasts until a time, or for its lease on a slow clock. A server that takes the
// place of one whose clock was ahead does so as well. how describes the last of them.
func (t *trace) setBackDuring(o *op, lease, until int64) (longer int64, how string) {
	replaced := slices.ContainsFunc(t.faults, func(f *faultSpan) bool { return f.replacesServer() && o.inv <= f.from && f.from <= until })
	for _, f := range t.faults {
		if !f.MovesClock || f.from > plus(o.ret, lease) {
			continue
		}
		n := int64(0)
		if f.to >= o.inv && (f.ClockRate != 0 || f.from >= o.inv) {
			n = f.setsBack(o.inv, max(until, plus(o.ret, stretchedBy(lease, f.ClockRate))))
		}
		if replaced {
			n = plus(n, f.setsForth(until))
		}
		if n > 0 {
			longer = plus(longer, n)
			how = fmt.Sprintf("a fault moved the clock of a server at %s, and it may have kept the hold of %s for longer than its lease", at(f.from), o.owner)
		}
	}
	return longer, how
}

// stretchedBy is the duration of a lease on a clock with a rate; 0 without a rate.
func stretchedBy(lease int64, rate float64) int64 {
	if rate <= 0 {
		return 0
	}
	return int64(min(float64(lease)/rate, float64(never/2)))
}

// setsBack is the time by which a fault at most sets a server's clock back between two times.
func (s *faultSpan) setsBack(from, to int64) int64 {
	switch {
	case s.ClockRate != 0:
		return max(0, int64((1-s.ClockRate)*float64(min(to, s.to)-max(from, s.from))))
	case s.ClockJump != 0:
		return max(0, -s.ClockJump)
	}
	return never
}

// setsForth is by how much a fault moves a clock forward before a time.
func (s *faultSpan) setsForth(to int64) int64 {
	switch {
	case s.ClockRate != 0:
		return max(0, int64((s.ClockRate-1)*float64(min(to, s.to)-s.from)))
	case s.ClockJump != 0:
		return max(0, s.ClockJump)
	}
	return never
}
