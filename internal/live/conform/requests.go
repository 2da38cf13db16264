package conform

import "encoding/json"

func tryAcquire(t *trial) {
	for _, p := range []*player{t.first(), t.second()} {
		t.turn(p, "1")
	}
}

func tryIdentity(t *trial) {
	a, b := t.first(), t.second()
	of := func(p *player, thread string) string {
		r := t.ask(p, message{"do": "identity", "thread": thread})
		if !r.OK {
			t.fail("identity is answered with %s", r)
		}
		return r.Identity
	}
	one, two, other := of(a, "1"), of(a, "2"), of(b, "1")
	switch {
	case one == "" && two == "" && other == "":
		t.remark = "it is not known"
	case one == two:
		t.fail("the threads 1 and 2 of %s are both %q", a.Name(), one)
	case one == other:
		t.fail("thread 1 of %s and thread 1 of %s are both %q", a.Name(), b.Name(), one)
	case of(a, "1") != one:
		t.fail("thread 1 of %s is not %q any more", a.Name(), one)
	}
}

func tryBusy(t *trial) {
	t.take(t.first(), "1", nil)
	t.refused(t.second(), "1")
	t.giveBack(t.first(), "1")
	t.turn(t.second(), "1")
}

func tryOwners(t *trial) {
	p := t.first()
	t.take(p, "1", nil)
	t.refused(p, "2")
	t.giveBack(p, "1")
	t.take(p, "2", nil)
	t.refused(p, "1")
	t.giveBack(p, "2")
}

func tryNotHeld(t *trial) {
	a, b := t.first(), t.second()
	t.turn(b, "2")         // who has never held a lock does not release it
	t.holdsNothing(b, "2") // before anybody has it: a lock may free what is another's
	t.turn(a, "1")
	t.holdsNothing(a, "1")
}

// holdsNothing lets an owner release what it does not hold. A lock that calls that a
// success is for a run to judge; its adapter is to report what it says.
func (t *trial) holdsNothing(p *player, thread string) {
	switch r := t.ask(p, t.owner("release", thread, nil)); {
	case r.OK:
		t.remark = "the lock takes the release of an owner that does not hold it for a success"
	case !r.is("not-held", "lost"):
		t.fail("thread %s of %s does not hold the lock, and its release is answered with %s", thread, p.Name(), r)
	}
}

func tryUnknownRequest(t *trial) {
	if r := t.ask(t.first(), t.owner("dance", "1", nil)); !r.is("unsupported") {
		t.fail("asked to dance it answers %s", r)
	}
}

// tryUnknownFields says what a later version may say, wherever it may.
func tryUnknownFields(t *trial) {
	p := t.extra()
	later := map[string]any{"why": []any{1, nil}}
	if a := t.within(t.startTime(), t.send(p, message{"do": "describe", "later": later})); !a.OK {
		t.fail("describe with a field more is answered with %s", a)
	}
	hello := fields(t.hello(p))
	hello["later"] = later
	hello["redis"].(map[string]any)["later"] = later
	t.greet(p, hello)
	t.take(p, "1", message{"later": later})
	if a := t.ask(p, t.owner("release", "1", message{"later": later})); !a.OK {
		t.fail("a release with a field more is answered with %s", a)
	}
}

// fields are those of a message as it is written.
func fields(v any) map[string]any {
	all := map[string]any{}
	text, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	possible(err)
	return all
}

func tryState(t *trial) {
	p := t.first()
	if t.stateOf(p, 0, answer{}) {
		t.stateOf(p, 1, t.take(p, "1", nil))
		t.giveBack(p, "1")
	}
}

// stateOf asks how often the owner holds the lock; false says that the lock
// does not tell.
func (t *trial) stateOf(p *player, want int, hold answer) bool {
	a := t.ask(p, t.owner("state", "1", nil))
	switch {
	case a.is("unsupported"):
		t.remark = "unsupported"
		return false
	case !a.OK || a.Count != want || a.Lost:
		t.fail("an owner that holds the lock %d times is told %s", want, a)
	case a.Hold != 0 && a.Hold != hold.id:
		t.fail("the hold began with acquire %d, the state says %d: %s", hold.id, a.Hold, a)
	}
	return true
}

func tryExtend(t *trial) {
	p := t.first()
	t.take(p, "1", nil)
	switch a := t.ask(p, t.owner("extend", "1", message{"lease_ns": t.opts.Lease.Nanoseconds()})); {
	case a.is("unsupported"):
		t.remark = "unsupported"
	case !a.OK:
		t.fail("the extension of a hold is answered with %s", a)
	}
	t.giveBack(p, "1")
}

func trySettle(t *trial) {
	p := t.first()
	hold := t.take(p, "1", nil)
	switch a := t.ask(p, t.owner("settle", "1", nil)); {
	case a.is("unsupported") && !t.lock.Claims.LostSign:
		t.remark = "unsupported"
	case !a.OK || a.Lost:
		t.fail("a holder who has lost nothing is told %s", a)
	case a.Hold != 0 && a.Hold != hold.id:
		t.fail("the hold began with acquire %d, settle says %d: %s", hold.id, a.Hold, a)
	}
	t.giveBack(p, "1")
}

func tryReentrant(t *trial) {
	a, b := t.first(), t.second()
	outer := t.take(a, "1", nil)
	inner := t.ask(a, t.owner("acquire", "1", nil))
	switch {
	case !inner.OK || inner.Count != 2:
		t.fail("the second acquire of the same owner is answered with %s", inner)
	case inner.Hold != 0 && inner.Hold != outer.id:
		t.fail("the hold began with acquire %d, the nested one says %d: %s", outer.id, inner.Hold, inner)
	}
	if r := t.ask(a, t.owner("release", "1", nil)); !r.OK || r.Count != 1 {
		t.fail("the first release of two is answered with %s", r)
	}
	t.refused(b, "1")
	t.giveBack(a, "1")
	t.turn(b, "1")
}

func tryFencing(t *trial) {
	last := uint64(0)
	for _, p := range []*player{t.first(), t.second(), t.first()} {
		a := t.take(p, "1", nil)
		if a.Token <= last {
			t.fail("after the token %d comes %d: %s", last, a.Token, a)
		}
		last = a.Token
		t.giveBack(p, "1")
	}
}

// tryCanceledBefore asks for an operation that is already cancelled: done or not, it is
// answered.
func tryCanceledBefore(t *trial) {
	p := t.first()
	a := t.ask(p, t.owner("acquire", "1", message{"canceled": true}))
	switch {
	case a.OK:
		t.granted(a, "1")
		t.giveBack(p, "1")
	case !a.is("canceled", "busy"): // some locks tell a caller that is gone that they were not to be had
		t.fail("an acquire of a free lock that is cancelled beforehand is answered with %s", a)
	}
}
