package explore

import (
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/scenarios"
)

// pairs are faults that belong together: alone, neither does what both do. Some
// are one fault that belongs to a certain time, and to work of a certain length.
var pairs = []struct {
	of   []string
	draw func(d *draw) []faults.Spec
}{
	{[]string{"cut-replication", "failover"}, func(d *draw) []faults.Spec { return d.behind("cut-replication") }},
	{[]string{"replication-lag", "failover"}, func(d *draw) []faults.Spec { return d.behind("replication-lag") }},
	{[]string{"partition", "failover"}, (*draw).isolated},
	{[]string{"partition", "clock-jump"}, func(d *draw) []faults.Spec { return d.overlapping("clock-jump") }},
	{[]string{"partition", "node-restart"}, func(d *draw) []faults.Spec { return d.overlapping("node-restart") }},
	{[]string{"partition", "delete-key"}, func(d *draw) []faults.Spec { return d.overlapping("delete-key") }},
	{[]string{"delay", "partition"}, (*draw).slowThenCut},
	{[]string{"delete-key"}, (*draw).robbed},
	{[]string{"node-crash"}, (*draw).downAtRelease},
	{[]string{"delay", "reset"}, func(d *draw) []faults.Spec { return d.together("delay", "reset") }},
	{[]string{"partition", "cancel"}, func(d *draw) []faults.Spec { return d.together("partition", "cancel") }},
	{[]string{"hold-reply", "pause"}, func(d *draw) []faults.Spec { return d.together("hold-reply", "pause") }},
	{[]string{"node-crash", "crash"}, func(d *draw) []faults.Spec { return d.together("node-crash", "crash") }},
}

// pair draws a pair of which both faults may come, if there is one.
func (d *draw) pair(may []string) {
	var some []func(*draw) []faults.Spec
	for _, p := range pairs {
		if !slices.ContainsFunc(p.of, func(name string) bool { return !slices.Contains(may, name) }) {
			some = append(some, p.draw)
		}
	}
	if len(some) == 0 {
		return
	}
	draw := some[d.rng.IntN(len(some))]
	for range attempts {
		if specs := draw(d); specs != nil && d.add(specs...) {
			return
		}
	}
}

// behind lets a replica fall behind, and take over.
func (d *draw) behind(how string) []faults.Spec {
	if d.top.Replicas == 0 {
		return nil
	}
	lag, over := d.fault(how, ""), d.fault("failover", AcquireReplied)
	at := d.between(0, d.lease())
	lag.Target, lag.On, lag.At, lag.After = faults.Names{over.To}, nil, &at, 0
	lag.For = d.between(d.lease(), 3*d.lease())
	over.After = d.between(0, d.lease()/4)
	return []faults.Spec{lag, over}
}

// isolated leaves a client with the old primary while another one takes over.
func (d *draw) isolated() []faults.Spec {
	if d.top.Replicas == 0 {
		return nil
	}
	over, cut := d.fault("failover", ""), d.fault("partition", "")
	at := d.between(0, d.lease())
	over.On, over.At, over.After, over.For, over.Mode = nil, &at, 0, 0, "isolate"
	cut.On, cut.At, cut.After, cut.Direction = nil, &at, 0, ""
	cut.Peer = faults.Names{over.To}
	cut.For = d.between(d.lease(), 4*d.lease())
	return []faults.Spec{cut, over}
}

// overlapping keeps a client from a few servers, and takes away what it has
// on another one.
func (d *draw) overlapping(how string) []faults.Spec {
	few := d.strictMinority()
	if few == nil {
		return nil
	}
	c := d.anyClient()
	cut, loss := d.fault("partition", ""), d.fault(how, "")
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

// slowThenCut makes a holder's replies slow, and then cuts it off, for longer
// than its lease: what it knows of its last renewal is late.
func (d *draw) slowThenCut() []faults.Spec {
	slow, cut := d.fault("delay", AcquireReplied), d.fault("partition", "")
	slow.On.Nth, slow.After = 0, 0
	slow.By, slow.Jitter, slow.Direction, slow.Peer = d.between(100*ms, d.lease()/4), 0, "to-client", nil
	slow.For = d.between(d.lease()/3, 3*d.lease()/2)
	cut.Target, cut.At, cut.On, cut.After = slow.Target, nil, slow.On, slow.For
	cut.Direction, cut.Peer, cut.For = "", nil, d.between(d.lease(), 3*d.lease())
	d.busy(slow.Target[0], time.Duration(cut.After+cut.For))
	return []faults.Spec{slow, cut}
}

// robbed deletes the key of a holder that has long to work, where others are
// quick: they come and go before it looks again.
func (d *draw) robbed() []faults.Spec {
	loss := d.fault("delete-key", AcquireReplied)
	loss.On.Nth, loss.After = 0, d.between(2*ms, d.lease()/3)
	d.s.Workload.Think = d.between(5*ms, 300*ms)
	d.busy(loss.On.Client, time.Duration(d.between(d.lease()/2, d.lease())))
	return []faults.Spec{loss}
}

// downAtRelease takes a server away when a holder is about to release, and
// brings it back before the lease is over.
func (d *draw) downAtRelease() []faults.Spec {
	down := d.fault("node-crash", Holding)
	down.At, down.After = nil, 0
	down.On = &faults.Anchor{Moment: faults.Writing, Client: d.anyClient(), Nth: d.number(1, 2)}
	down.For = d.between(d.lease()/3, d.lease())
	return []faults.Spec{down}
}

// busy lets a client work for that long in each of its holds, and have them
// renewed.
func (d *draw) busy(client string, think time.Duration) {
	long, explicit := faults.Duration(think), false
	d.override(client, func(o *scenarios.Override) { o.Think, o.Explicit = &long, &explicit })
}

// together lets two faults strike the same client, or whatever the second one
// strikes, one shortly after the other.
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
