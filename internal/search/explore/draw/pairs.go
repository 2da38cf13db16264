package draw

import (
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/internal/search"
	"github.com/holdfast-go/holdfast/scenarios"
)

// pair is two faults that act together: neither has the effect alone. Without a
// second fault, it is one fault at a certain time, with work of a certain length.
type pair struct {
	first, second func(history.Traits) bool // second is nil where one fault is enough
	draw          func(d *draw, first, second string) []faults.Spec
}

var pairs = []pair{
	{lags, promotes, (*draw).behind},
	{cuts, promotes, (*draw).isolated},
	{cuts, jumps, (*draw).overlapping},
	{cuts, forgets, (*draw).overlapping},
	{cuts, deletes, (*draw).overlapping},
	{slows, cuts, (*draw).slowThenCut},
	{deletes, nil, (*draw).robbed},
	{stopsServer, nil, (*draw).downAtRelease},
	{slows, breaks, (*draw).together},
	{cuts, cancels, (*draw).together},
	{losesReplies, stopsClient, (*draw).together},
	{stopsServer, endsClient, (*draw).together},
}

// The effects of the faults of pairs.
func lags(t history.Traits) bool         { return t.HoldsReplication }
func promotes(t history.Traits) bool     { return t.Promotes }
func cuts(t history.Traits) bool         { return t.Cuts && t.HoldsRequests }
func slows(t history.Traits) bool        { return !t.Cuts && t.HoldsRequests }
func losesReplies(t history.Traits) bool { return t.LosesReplies }
func breaks(t history.Traits) bool {
	return t.BreaksConnections && t.Instant && !t.StopsNode && !t.Promotes
}
func jumps(t history.Traits) bool       { return t.MovesClock && t.Instant }
func deletes(t history.Traits) bool     { return t.DeletesKeys }
func forgets(t history.Traits) bool     { return t.StopsNode && t.LosesWrites && !t.Promotes }
func stopsServer(t history.Traits) bool { return t.StopsNode && !t.LosesWrites }
func stopsClient(t history.Traits) bool { return t.StopsProcess }
func endsClient(t history.Traits) bool  { return t.EndsProcess }
func cancels(t history.Traits) bool     { return t.Cancels }

func (d *draw) pair(may []string) {
	var some []func() []faults.Spec
	for _, p := range pairs {
		for _, first := range only(slices.Clone(may), p.first) {
			if p.second == nil {
				some = append(some, func() []faults.Spec { return p.draw(d, first, "") })
				continue
			}
			for _, second := range only(slices.Clone(may), p.second) {
				some = append(some, func() []faults.Spec { return p.draw(d, first, second) })
			}
		}
	}
	if len(some) == 0 {
		return
	}
	draw := some[d.rng.IntN(len(some))]
	for range attempts {
		if specs := draw(); specs != nil && d.add(specs...) {
			return
		}
	}
}

// behind lets a replica lag, and then take over.
func (d *draw) behind(lagging, promoting string) []faults.Spec {
	if d.top.Replicas == 0 {
		return nil
	}
	lag, over := d.fault(lagging, ""), d.fault(promoting, AcquireReplied)
	at := d.between(0, d.lease())
	lag.Target, lag.On, lag.At, lag.After = faults.Names{over.To}, nil, &at, 0
	lag.For = d.between(d.lease(), 3*d.lease())
	over.After = d.between(0, d.lease()/4)
	return []faults.Spec{lag, over}
}

// isolated leaves a client with the old primary while a replica takes over.
func (d *draw) isolated(cutting, promoting string) []faults.Spec {
	if d.top.Replicas == 0 {
		return nil
	}
	over, cut := d.fault(promoting, ""), d.fault(cutting, "")
	at := d.between(0, d.lease())
	over.On, over.At, over.After, over.For, over.Mode = nil, &at, 0, 0, "isolate"
	cut.On, cut.At, cut.After, cut.Direction = nil, &at, 0, ""
	cut.Peer = faults.Names{over.To}
	cut.For = d.between(d.lease(), 4*d.lease())
	return []faults.Spec{cut, over}
}

// overlapping cuts a client off from a few servers, and loses its hold on another
// one.
func (d *draw) overlapping(cutting, losing string) []faults.Spec {
	few := d.strictMinority()
	if few == nil {
		return nil
	}
	c := d.anyClient()
	cut, loss := d.fault(cutting, ""), d.fault(losing, "")
	at := d.between(0, d.lease()/4)
	cut.On, cut.At, cut.After = nil, &at, 0
	cut.Target, cut.Peer, cut.Direction = faults.Names{c}, few, ""
	cut.For = d.between(d.lease(), 3*d.lease())
	loss.At, loss.On = nil, &faults.Anchor{Moment: faults.Granted, Client: c}
	loss.After = d.between(0, d.lease()/4)
	for loss.Target = (faults.Names{d.primary()}); slices.Contains(few, loss.Target[0]); {
		loss.Target[0] = d.primary()
	}
	return []faults.Spec{cut, loss}
}

// slowThenCut delays a holder's replies, and then cuts it off for longer than its
// lease: it learns of its last renewal late.
func (d *draw) slowThenCut(slowing, cutting string) []faults.Spec {
	slow, cut := d.fault(slowing, AcquireReplied), d.fault(cutting, "")
	slow.On.Nth, slow.After = 0, 0
	slow.By, slow.Jitter, slow.Direction, slow.Peer = d.between(100*ms, d.lease()/4), 0, "to-client", nil
	slow.For = d.between(d.lease()/3, 3*d.lease()/2)
	cut.Target, cut.At, cut.On, cut.After = slow.Target, nil, slow.On, slow.For
	cut.Direction, cut.Peer, cut.For = "", nil, d.between(d.lease(), 3*d.lease())
	d.busy(slow.Target[0], time.Duration(cut.After+cut.For))
	return []faults.Spec{slow, cut}
}

// robbed deletes the key of a holder with long work, while others work briefly:
// they hold and release the lock before the holder checks it.
func (d *draw) robbed(deleting, _ string) []faults.Spec {
	loss := d.fault(deleting, AcquireReplied)
	loss.On.Nth, loss.After = 0, d.between(2*ms, d.lease()/3)
	d.s.Workload.Think = d.between(5*ms, 300*ms)
	d.busy(loss.On.Client, time.Duration(d.between(d.lease()/2, d.lease())))
	return []faults.Spec{loss}
}

// downAtRelease stops a server when a holder is about to release, and starts it
// again before the end of the lease.
func (d *draw) downAtRelease(stopping, _ string) []faults.Spec {
	down := d.fault(stopping, Holding)
	down.At, down.After = nil, 0
	down.On = &faults.Anchor{Moment: faults.Writing, Client: d.anyClient(), Nth: d.number(1, 2)}
	down.For = d.between(d.lease()/3, d.lease())
	return []faults.Spec{down}
}

// busy makes a client work for think in each of its holds, with renewal.
func (d *draw) busy(client string, think time.Duration) {
	long, explicit := faults.Duration(think), false
	search.Override(d.s, client, func(o *scenarios.Override) { o.Think, o.Explicit = &long, &explicit })
}

// together lets two faults strike the same client, or the target of the second
// one, shortly after each other.
func (d *draw) together(first, second string) []faults.Spec {
	a := d.fault(first, "")
	b := d.fault(second, "")
	b.At, b.On = a.At, a.On
	b.After = a.After + d.between(0, 500*ms)
	if k, _ := faults.Lookup(second); k.Target != "node" && !isNode(a.Target[0]) {
		b.Target = a.Target
	}
	return []faults.Spec{a, b}
}

func isNode(name string) bool { return name[0] != 'c' }
