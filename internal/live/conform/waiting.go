package conform

import (
	"fmt"
	"time"
)

// shortWait is the time of an acquire that is to wait in vain.
const shortWait = 300 * time.Millisecond

// underWay is the time after which a trial takes an acquire for a waiting one. No
// message reports that it waits.
const underWay = 100 * time.Millisecond

// forEver is the wait of an acquire that only a grant or a cancel ends.
var forEver = message{"wait_ns": -1}

func waiting(d time.Duration) message { return message{"wait_ns": d.Nanoseconds()} }

// handoff is the time for which a waiter may overlook a free lock here.
func (t *trial) handoff() time.Duration {
	if t.lock.HandoffNS == 0 {
		return t.opts.Patience // nothing is promised, but that it waits
	}
	return t.overlooks() + slack
}

// overlooks is the time for which a waiter says that it may go without looking.
func (t *trial) overlooks() time.Duration {
	return time.Duration(float64(t.lock.HandoffNS) * scale)
}

// gets awaits the grant of a lock that is free.
func (t *trial) gets(r *asked, thread string, free time.Time) {
	t.granted(t.within(t.handoff()+time.Since(free), r), thread)
}

// runsOut waits for a held lock in vain.
func (t *trial) runsOut(p *player, thread string, wait time.Duration) {
	var r *asked
	var a answer
	for range 5 {
		r = t.send(p, t.owner("acquire", thread, waiting(wait)))
		a = t.within(wait+t.overlooks()+t.opts.Patience, r)
		if !a.is("unknown") {
			break // the wait did not end between a request and its reply
		}
	}
	took := time.Since(r.sent)
	if !a.is("busy") {
		t.fail("an acquire that waits %s for a lock that another owner holds is answered with %s", wait, a)
	}
	if early := wait - wait/10 - t.overlooks(); took < early {
		t.fail("it is busy after %s, and was to wait %s", took.Round(time.Millisecond), wait)
	}
	if late := wait + t.overlooks() + slack; took > late {
		t.fail("it is busy only after %s, and was to wait %s", took.Round(time.Millisecond), wait)
	}
}

func tryWaits(t *trial) {
	t.take(t.first(), "1", nil)
	t.runsOut(t.second(), "1", shortWait)
	t.runsOut(t.first(), "2", shortWait)
	t.giveBack(t.first(), "1")
}

func tryHandoff(t *trial) {
	a, b := t.first(), t.second()
	for _, to := range []struct {
		p      *player
		thread string
	}{{b, "1"}, {a, "2"}} {
		t.take(a, "1", nil)
		r := t.send(to.p, t.owner("acquire", to.thread, forEver))
		time.Sleep(underWay)
		t.giveBack(a, "1")
		t.gets(r, to.thread, time.Now())
		t.giveBack(to.p, to.thread)
	}
}

// waitersMeanwhile is the number of acquires that wait at once: more than a small pool of
// threads can carry.
const waitersMeanwhile = 8

func tryMeanwhile(t *trial) {
	p := t.first()
	on := func(i int) message {
		return message{"lock": fmt.Sprintf("%s-%d", t.name, i)}
	}
	waits := make([]*asked, waitersMeanwhile)
	for i := range waits {
		t.take(p, "1", on(i))
		wait := on(i)
		wait["wait_ns"] = -1
		waits[i] = t.send(p, t.owner("acquire", "2", wait))
	}
	t.take(p, "3", nil)
	t.giveBack(p, "3")
	for i, r := range waits {
		t.ask(p, t.owner("release", "1", on(i)))
		t.gets(r, "2", time.Now())
		t.ask(p, t.owner("release", "2", on(i)))
	}
}

func tryCancel(t *trial) {
	a, b := t.first(), t.second()
	t.take(a, "1", nil)
	wait := time.Duration(0)
	if t.lock.Claims.Waits {
		wait = shortWait
	}
	r := t.send(b, t.owner("acquire", "1", waiting(wait)))
	t.canceled(b, r)
	if end := t.within(wait+t.overlooks()+t.opts.Patience, r); !end.is("canceled", "busy") {
		t.fail("a cancelled acquire of a lock that another owner holds is answered with %s", end)
	}
	t.canceled(b, r) // it is over
	t.giveBack(a, "1")
}

func (t *trial) canceled(p *player, r *asked) {
	if a := t.ask(p, message{"do": "cancel", "of": r.ID()}); !a.OK {
		t.fail("the cancel of request %d is answered with %s", r.ID(), a)
	}
}

func tryCancels(t *trial) {
	a, b := t.first(), t.second()
	t.take(a, "1", nil)
	r := t.send(b, t.owner("acquire", "1", forEver))
	time.Sleep(underWay)
	t.canceled(b, r)
	if end := t.soon(r); !end.is("canceled") {
		t.fail("an acquire that was cancelled while it waited is answered with %s", end)
	}
	t.giveBack(a, "1")
	t.turn(b, "1")
}

func tryTakesBack(t *trial) {
	a, b := t.first(), t.second()
	t.take(a, "1", nil)
	r := t.send(b, t.owner("acquire", "1", waiting(shortWait)))
	if end := t.within(shortWait+t.overlooks()+t.opts.Patience, r); end.OK {
		t.fail("an acquire of a lock that another owner holds is answered with %s", end)
	}
	t.giveBack(a, "1")
	t.disperse()
	t.cleared()
}

func tryMessages(t *trial) {
	a, b := t.first(), t.second()
	t.take(a, "1", nil)
	r := t.send(b, t.owner("acquire", "1", forEver))
	t.eventually(t.opts.Patience, "while it waits, nobody is subscribed to any channel", func() bool {
		return got(t.world.Subscriptions(t.ctx)) > 0
	})
	t.giveBack(a, "1")
	t.gets(r, "1", time.Now())
	t.giveBack(b, "1")
}

// comesLater is the time by which the second of two waiters comes later, so that their
// order is beyond doubt.
const comesLater = 300 * time.Millisecond

func tryFairness(t *trial) {
	a, b := t.first(), t.second()
	t.take(a, "1", nil)
	early := t.send(b, t.owner("acquire", "1", forEver))
	time.Sleep(comesLater)
	late := t.send(a, t.owner("acquire", "2", forEver))
	time.Sleep(comesLater)
	t.giveBack(a, "1")
	t.gets(early, "1", time.Now())
	t.giveBack(b, "1")
	t.gets(late, "2", time.Now())
	t.giveBack(a, "2")
}
