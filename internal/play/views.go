package play

import (
	"context"
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// view is an owner's part of a lock in one mode.
type view struct {
	lock  string
	share history.Share
}

// reading is the share of a reader.
var reading = history.Share{Mode: history.Shared}

// otherMode is the share of a reader for a writer, and the other way round.
func otherMode(s history.Share) history.Share {
	if s == reading {
		return history.Share{}
	}
	return reading
}

// nameIn is the name of the owner in a mode. One that has the lock in both has two names.
func (c *thread) nameIn(s history.Share) string {
	if s != c.home {
		return c.base + "b"
	}
	return c.base
}

// newOwner changes to a new owner. No two threads of a client share one.
func (c *thread) newOwner() {
	c.unclear = false
	if c.present == 0 {
		c.present = c.number
	} else {
		c.present += c.atOnce
	}
	c.base = fmt.Sprintf("%s/%d", c.Proc.Name(), c.present)
	c.owner = c.base
	number, writer, reader := fmt.Sprint(c.present), c.base, c.base
	if c.turns {
		writer, reader = c.nameIn(history.Share{}), c.nameIn(reading)
	}
	c.owners.began(writer, reader, c.session, number)
	c.openViews(number)
}

// openViews opens the views of a new owner.
func (c *thread) openViews(number string) {
	c.lockers = map[view]lock.Locker{}
	open := func(v view) {
		if v.share != (history.Share{}) {
			c.lockers[v] = c.session.(locks.Sharer).ShareLocker(v.lock, number, v.share)
		} else {
			c.lockers[v] = c.session.Locker(v.lock, number)
		}
	}
	for _, name := range c.work.Names() {
		open(view{name, c.home})
		if c.turns {
			open(view{name, otherMode(c.home)})
		}
	}
}

// face changes to the view of a mode.
func (c *thread) face(s history.Share) {
	c.share, c.owner, c.locker = s, c.nameIn(s), c.lockers[view{c.lock, s}]
}

// turn makes a writer a reader as well, or a reader a writer, after the think time. Until
// it has given the write back, the validity of its first hold counts, and the sign of loss
// of the write.
func (c *thread) turn(ctx context.Context, lease time.Duration) (g lock.Grant, turned bool) {
	if !c.turns || c.think(ctx) || c.loss.overstayed() || !c.proceed() {
		return g, false
	}
	c.face(otherMode(c.home))
	if g, turned = c.acquire(ctx, lease); !turned {
		c.face(c.home)
		return g, false
	}
	signal := c.loss.signal
	if c.home == reading {
		signal = c.lostSign()
	}
	c.loss.become(signal, c.base, c.owner)
	c.face(history.Share{}) // it writes as the writer that it is
	return g, true
}

// readOn gives the write back of an owner that is a reader as well, and remains one. If it
// does not know what it has, a new owner follows.
func (c *thread) readOn(ctx context.Context, read lock.Grant) {
	c.face(history.Share{})
	c.unclear = !c.giveBack(ctx, 2) || c.unclear
	c.face(reading)
	c.loss.become(c.lostSign(), c.owner)
	c.loss.nested(read.Until)
}
