package play

import (
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/lock"
)

// loss is the end of a client's work under its present hold: the lock notifies of
// a loss, or the validity is over. The first observer records it, once.
type loss struct {
	signal <-chan struct{} // nil where the lock has none, or the workload does not heed it
	owners []string        // the names of the hold's owner: two of one that reads and writes
	note   func(owner string, why history.Func)

	mu       sync.Mutex
	until    time.Time // when the work has to end; zero for a careless user
	recorded bool
}

// lossOfHold is the loss of the hold that the lock has just granted.
func (c *thread) lossOfHold(g lock.Grant) *loss {
	l := &loss{signal: c.lostSign(), owners: []string{c.owner}}
	l.until = l.after(g.Until)
	e := history.Event{Kind: history.Note, Client: c.Proc.Name(), Lock: c.lock}
	l.note = func(owner string, why history.Func) {
		e.F, e.Owner = why, owner
		c.rec.Add(e)
	}
	return l
}

// lostSign is the sign of loss that the user heeds, nil for none.
func (c *thread) lostSign() <-chan struct{} {
	if c.work.Carry {
		return nil
	}
	return lostSignOf(c.locker)
}

// lostSignOf is the sign of loss of the latest hold of a locker, nil for none.
func lostSignOf(l lock.Locker) <-chan struct{} {
	if n, ok := l.(lock.LostNotifier); ok {
		return n.Lost()
	}
	return nil
}

// after is just after the end of a validity, if the lock may notify of a loss at that
// moment: the notice comes first.
func (l *loss) after(until time.Time) time.Time {
	if until.IsZero() || l.signal == nil {
		return until
	}
	return until.Add(time.Nanosecond)
}

// become makes it the loss of another hold of the owner, or of one more.
func (l *loss) become(signal <-chan struct{}, owners ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.signal, l.owners = signal, owners
}

// nested records the validity of a nested grant. A hold without an end keeps none.
func (l *loss) nested(until time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !until.IsZero() && !l.until.IsZero() && !l.recorded { // who has stopped does not begin again
		l.until = l.after(until)
	}
}

// extended records a later end of the validity.
func (l *loss) extended(until time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if until = l.after(until); !l.until.IsZero() && !l.recorded && until.After(l.until) {
		l.until = until
	}
}

// mustEndAs records that the work ends for a reason.
func (l *loss) mustEndAs(why history.Func) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.record(why)
}

// over returns a channel for the end of the validity, or nil if it has none.
func (l *loss) over() (after <-chan time.Time, stop func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.until.IsZero() {
		return nil, func() {}
	}
	t := time.NewTimer(time.Until(l.until))
	return t.C, func() { t.Stop() }
}

// mustEnd reports whether the work must end, and records the reason.
func (l *loss) mustEnd() bool { return l.mustEndWithin(0) }

// mustEndWithin is mustEnd for work that takes need.
func (l *loss) mustEndWithin(need time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.signal:
		l.record(history.Lost)
		return true
	default:
		return l.expired(need)
	}
}

// overstayed reports whether the validity is over, and records that. It does not
// check the lock's notice.
func (l *loss) overstayed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.expired(0)
}

// expired reports whether less than need of the validity remains, and records
// that. The caller holds mu.
func (l *loss) expired(need time.Duration) bool {
	if l.until.IsZero() || time.Until(l.until) > need {
		return false
	}
	l.record(history.Stopped)
	return true
}

// record notes why the work ends. The caller holds mu.
func (l *loss) record(why history.Func) {
	if !l.recorded {
		l.recorded = true
		for _, owner := range l.owners {
			l.note(owner, why)
		}
	}
}

// listen records the end of the work at once while the client waits for an
// operation on its hold. The client's record of that operation must come later,
// even at the same instant: call mustEnd before it.
func (c *thread) listen(l *loss) (stop func()) {
	over, done := l.over()
	if l.signal == nil && over == nil {
		return done
	}
	quit, signal, part := make(chan struct{}), l.signal, " loss of "+c.lock+" by "
	go func() {
		defer done()
		woken := false
		select {
		case <-signal:
			woken = true
		case <-over:
		case <-quit:
			return
		}
		if c.proceedAs(part, woken) {
			l.mustEnd()
		}
	}()
	return func() { close(quit) }
}
