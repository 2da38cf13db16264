package checker

import (
	"cmp"
	"slices"

	"github.com/holdfast-go/holdfast/checker/history"
)

type busyTimes struct {
	all  [][2]int64
	near int // where the last search ended
}

func merged(times [][2]int64) busyTimes {
	slices.SortFunc(times, func(a, b [2]int64) int { return cmp.Compare(a[0], b[0]) })
	out := times[:0]
	for _, x := range times {
		if n := len(out); n > 0 && x[0] <= out[n-1][1] {
			out[n-1][1] = max(out[n-1][1], x[1])
			continue
		}
		out = append(out, x)
	}
	return busyTimes{all: out}
}

// lateSubscriptions counts the faults that delay a subscription during a wait, at least
// one. The promised hand-off must cope with one, and their delays add up.
func (j progressJudge) lateSubscriptions(o *op) int64 {
	n := int64(0)
	for _, f := range j.faults[:j.faultsBefore(o.ret)] {
		if f.HoldsSubscriptions && f.touchesClient(o.client) && f.to >= o.inv {
			n++
		}
	}
	return max(1, n)
}

// withinReach are the times in which too few of the reachable servers were free
// for a client; nil if it reached all.
func (j progressJudge) withinReach(o *op, w *waiting) *busyTimes {
	within, known := w.within[o.client]
	if !known {
		if cuts := j.timesUnreachable(o.client); len(cuts) > 0 {
			times := merged(append(j.timesTaken(j.waiterOf(o), cuts), w.queued...))
			within = &times
		}
		w.within[o.client] = within
	}
	return within
}

// timesUnreachable lists when faults separated servers from a client: one edge at each
// start and one at each end.
func (j progressJudge) timesUnreachable(client string) []edge {
	var cuts []edge
	disturbs := disturbs(client)
	for _, f := range j.faults {
		if !disturbs(f) {
			continue
		}
		for _, group := range f.groups() {
			cuts = append(cuts, edge{f.from, group, j.claims.Capacity()}, edge{plus(f.to, j.allow.healing), group, -j.claims.Capacity()})
		}
	}
	return cuts
}

// edge is a time at which a group of servers has a weight more or less of obstacles.
type edge struct {
	t     int64
	group string
	d     int
}

// timesTaken lists the times in which too few servers had room for the hold of a waiter.
// On more groups than the lock can lose it had none, or cuts made them unreachable. After
// a failover replicas count as well, because clients may use one of them.
func (j progressJudge) timesTaken(k waiter, cuts []edge) [][2]int64 {
	failed := int64(never)
	for _, f := range j.faults {
		if f.replacesServer() {
			failed = min(failed, f.from)
		}
	}
	spans := j.accountOf(ownerLock{"", k.lock}).spans.all
	edges := make([]edge, 0, len(cuts)+2*len(spans))
	edges = append(edges, cuts...)
	for _, s := range spans {
		if s.replica && s.to <= failed || s.holder == k.other {
			continue
		}
		from := min(j.countsUntil(s), s.to)
		takes := j.weightOnServer(s)
		edges = append(edges, edge{from, s.group, takes}, edge{s.to, s.group, -takes})
	}
	return j.timesWithoutRoom(edges, k.weight, j.claims.Nodes-j.claims.Quorum)
}

// timesWithoutRoom lists the times in which more groups than some can be spared had no
// room for a hold of a weight. It sorts the edges.
func (j progressJudge) timesWithoutRoom(edges []edge, weight, spare int) [][2]int64 {
	slices.SortStableFunc(edges, func(a, b edge) int { return cmp.Compare(a.t, b.t) })
	room := j.claims.Capacity() - weight
	held := map[string]int{}
	groups, since := 0, int64(-1)
	out := make([][2]int64, 0, len(edges)/2)
	for _, e := range edges {
		before := held[e.group]
		now := before + e.d
		held[e.group] = now
		if before <= room && now > room {
			groups++
		}
		if before > room && now <= room {
			groups--
		}
		switch {
		case groups > spare && since < 0:
			since = e.t
		case groups <= spare && since >= 0:
			out = append(out, [2]int64{since, e.t})
			since = -1
		}
	}
	if since >= 0 {
		out = append(out, [2]int64{since, never})
	}
	return out
}

// weightOnServer is the weight of the hold of a span. One of an unknown owner takes as
// much as a hold can.
func (j progressJudge) weightOnServer(s *span) int {
	var share history.Share
	if o := j.grantOf(s.holder, s.lock, s.from); o != nil {
		share.Mode = o.args.Mode
	}
	return s.permits * j.claims.Weight(share)
}

// countsUntil is when a hold on a server starts to count. Without a fault, a lock that was
// handed to a waiter counts as free until the waiter gets its grant.
func (j progressJudge) countsUntil(s *span) int64 {
	client, known := j.client[s.holder]
	if !known || j.claims.Nodes > 1 || j.claims.Acks > 0 {
		return s.from
	}
	o := j.accountOf(ownerLock{s.holder, s.lock}).ops.last(s.from, func(*op) bool { return true })
	if o == nil || o.f != history.Acquire || o.ret <= s.from {
		return s.from
	}
	noticed := min(o.ret, j.endTime)
	disturbed := j.overlap(s.from, noticed, j.allow.healing, touches(client)) > 0
	if _, crashed := j.crashed[client]; disturbed || crashed || j.closing.at(client) <= noticed || noticed-s.from <= j.allow.underway+j.allow.machine {
		return s.from
	}
	return noticed
}

// longestGap finds the longest part of a wait that no busy time covers, without
// the time of excusing faults.
func (j progressJudge) longestGap(times *busyTimes, o *op, end int64, excuses func(*faultSpan) bool) (from, to, idle int64) {
	busy := times.all[search(len(times.all), &times.near, func(i int) bool { return times.all[i][1] > o.inv }):]
	reached := o.inv
	gap := func(until int64) {
		until = min(until, end)
		if until-reached <= idle {
			return
		}
		if n := until - reached - j.overlap(reached, until, j.allow.healing, excuses); n > idle {
			from, to, idle = reached, until, n
		}
	}
	for _, b := range busy {
		if b[0] > reached {
			gap(b[0])
		}
		reached = max(reached, b[1])
		if reached >= end {
			return from, to, idle
		}
	}
	gap(end)
	return from, to, idle
}
