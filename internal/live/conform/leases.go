package conform

import (
	"time"

	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// tryLease lets a process die with a hold.
func tryLease(t *trial) {
	dying := t.fresh()
	a := t.take(dying, "1", nil)
	if a.Lease <= 0 || a.Lease > t.opts.Lease {
		t.fail("the lock was opened with a lease of %s, and the hold is said to last %s (absent is for ever): %s", t.opts.Lease, a.Lease, a)
	}
	if a.Renewed != t.lock.Claims.Renewal {
		t.fail(`"renewal" is claimed: %t, and "renewed" of a hold without a lease of its own: %t: %s`, t.lock.Claims.Renewal, a.Renewed, a)
	}
	for _, k := range t.copies() {
		if left := k.left(); t.lock.Shown() != locks.HolderNone && (left < t.opts.Lease/2 || left > t.opts.Lease+slack) {
			t.fail("the lease is %s, and its key on %s has %s left to live (0 is for ever)", t.opts.Lease, k.node, left)
		}
	}
	possible(dying.Kill())
	t.wins(t.first(), "1", t.opts.Lease+slack)
	t.giveBack(t.first(), "1")
}

func tryExplicit(t *trial) {
	a, b := t.first(), t.second()
	lease := t.opts.Lease / 2
	g := t.take(a, "1", message{"lease_ns": lease.Nanoseconds()})
	if g.Lease <= 0 || g.Lease > lease || g.Renewed {
		t.fail("asked for a lease of %s, it says that the hold lasts %s (absent is for ever), renewed: %t: %s", lease, g.Lease, g.Renewed, g)
	}
	t.refused(b, "1")
	t.wins(b, "1", lease+slack)
	t.giveBack(b, "1")
}

// tryRenewal holds a lock for longer than its lease.
func tryRenewal(t *trial) {
	a, b := t.first(), t.second()
	t.take(a, "1", nil)
	for end := time.Now().Add(2 * t.opts.Lease); time.Now().Before(end); time.Sleep(t.opts.Lease / 10) {
		t.refused(b, "1")
	}
	t.giveBack(a, "1")
}

// tryLostSign stops a process until its lease is over.
func tryLostSign(t *trial) {
	p := t.fresh()
	t.take(p, "1", nil)
	lost := p.Conversation().Locker(t.name, "1").Lost()
	possible(p.Pause())
	t.eventually(2*t.opts.Lease+t.opts.Patience, "the lease of a process that is stopped does not end", func() bool { return len(t.copies()) == 0 })
	time.Sleep(t.opts.Lease / 10) // the process counts from its own request on, or from the reply
	possible(p.Resume())
	told := t.ask(p, t.owner("settle", "1", nil)).Lost
	if !told {
		select {
		case <-lost:
		case <-time.After(t.opts.Lease):
			t.fail("%s after its lease has ended and the process has gone on, nothing tells of the loss", t.opts.Lease)
		}
	}
	if a := t.ask(p, t.owner("release", "1", nil)); !a.is("lost", "not-held") {
		t.fail("the release of a hold that is lost is answered with %s", a)
	}
}
