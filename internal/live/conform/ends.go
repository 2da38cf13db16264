package conform

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/faults"
)

const asleep = 200 * time.Millisecond

func tryPause(t *trial) {
	p := t.second()
	t.turn(p, "1")
	possible(p.Pause())
	r := t.send(p, message{"do": "identity", "thread": "1"})
	time.Sleep(asleep)
	possible(p.Resume())
	t.soon(r)
	t.turn(p, "1")
}

// tryCloses closes the lock while one thread holds it and another waits.
func tryCloses(t *trial) {
	p := t.fresh()
	t.take(p, "1", nil)
	var waiter *asked
	if t.lock.Claims.Waits {
		waiter = t.send(p, t.owner("acquire", "2", waiting(shortWait)))
	}
	if a := t.ask(p, message{"do": "close"}); !a.OK {
		t.fail("close is answered with %s", a)
	}
	if waiter != nil {
		if a := t.within(t.opts.Patience+shortWait, waiter); a.is("other") {
			t.fail("an acquire that waits while the lock is closed is answered with %s", a)
		}
	}
	t.ask(p, t.owner("acquire", "3", nil))
	if a := t.ask(p, message{"do": "finish"}); !a.OK {
		t.fail("finish, after close, is answered with %s", a)
	}
	t.stop(p)
}

// tryEndOfInput leaves a process in the middle of work.
func tryEndOfInput(t *trial) {
	p := t.fresh()
	t.take(p, "1", nil)
	if t.lock.Claims.Waits {
		t.send(p, t.owner("acquire", "2", forEver))
		t.ask(p, message{"do": "identity", "thread": "2"}) // the request before it has been read
	}
	possible(p.Conversation().EndInput())
	t.exits(p, "the end of its standard input")
}

func tryAddresses(t *trial) {
	p := t.first()
	t.turn(p, "1")
	given := slices.AppendSeq(slices.Clone(p.access.Primaries), maps.Values(p.access.Map))
	for _, addr := range got(p.Remotes()) {
		if !slices.Contains(given, addr) {
			t.fail("it is connected to %s; it was given %v", addr, given)
		}
	}
}

func tryFinish(t *trial) {
	p := t.first()
	t.turn(p, "1")
	a := t.ask(p, message{"do": "finish"})
	switch {
	case !a.OK:
		t.fail("finish is answered with %s", a)
	case len(a.Goroutines) > 0:
		t.fail("%d threads or tasks that should have ended have not, the first is\n%s", len(a.Goroutines), a.Goroutines[0])
	}
	t.eventually(t.opts.Patience, "its connections are not closed", func() bool {
		open := 0
		for _, node := range t.world.Nodes() {
			open += t.world.Connections(faults.Link{From: p.Name(), To: node})
		}
		return open == 0
	})
	t.cleared()
	select {
	case <-p.Ended():
		t.fail("the process has ended: %v", p.Err())
	default:
	}
}

func tryStop(t *trial) {
	p := t.second()
	t.shared[1] = nil
	t.extras = append(t.extras, p)
	t.stop(p)
}

// bookkeeping is the time for which the notes of a lock beside its key may stay.
const bookkeeping = time.Minute

// cleared fails the trial when something of its lock stays on the servers.
func (t *trial) cleared() {
	key := t.lock.KeyOf(t.name)
	var left string
	t.eventually(t.opts.Patience, "when everybody has let go, a server keeps a key that is not one of \"keeps\": ", func() bool {
		left = ""
		for _, k := range got(t.world.Keys(t.ctx)) {
			ends := k.Name != key && k.TTL > 0 && k.TTL <= bookkeeping
			if strings.Contains(k.Name, t.name) && !ends && !t.lock.MayStay(t.name, k.Name) {
				left = k.Name
			}
		}
		return left == ""
	}, &left)
}

// eventually waits until something holds, and fails the trial with the words
// when it does not in time.
func (t *trial) eventually(limit time.Duration, otherwise string, holds func() bool, more ...*string) {
	const pause = 10 * time.Millisecond
	for end := time.Now().Add(limit); !holds(); time.Sleep(pause) {
		if time.Now().Before(end) {
			continue
		}
		for _, m := range more {
			otherwise += *m
		}
		t.fail("%s (looked for %s)", otherwise, limit)
	}
}
