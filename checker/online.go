package checker

import (
	"cmp"
	"maps"
	"slices"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/checker/internal/linear"
)

// Online judges the linearizability of a run while it goes on, for each lock name.
// Its outcome is that of [Judge] on the operations of the clients, without fencing
// tokens. If only [Server] events or only tokens prove a violation, Judge returns
// violated and Online ok.
//
// Online reports a violation as soon as it is certain: after the return of every
// operation that was called before the contradiction. It keeps the open
// operations, those that overlap an open one, those of lastingly unknown outcome,
// and a little state for each owner and client. So its memory does not grow with
// the run. If one acquire stays open for very long, Online assumes an unknown
// outcome. If it returns after all, violations are still certain, but ok becomes
// unknown. If a release or an inspection stays open for that long, the verdict is
// unknown at once.
//
// Online checks the history as Judge does, event by event. Operation ids that do
// not count up from 1 take memory.
type Online struct {
	header    history.Header
	claim     history.Claims
	valid     *history.Validator
	substance *substance
	locks     []*onlineLock
	byName    map[string]*onlineLock
	open      map[int64]*onlineOp // lock operations that have not returned
	told      []*loss             // losses whose owners have not released since
	waiting   []*onlineLock       // returns of theirs wait for time to pass
	now       int64
	v         Verdict
	err       error
}

// onlineLock is one lock name.
type onlineLock struct {
	name   string
	stream *linear.Stream
	owners linear.Roster
	doubt  *op   // was taken as unknown, and returned after all
	waited int64 // when the latest wait for it ended
}

// onlineOp is an operation without a return.
type onlineOp struct {
	*op
	lock  *onlineLock
	entry *linear.Entry
	taken bool // as one of unknown outcome
}

// loss is the place of the release that will report a loss, at the time when its
// owner learned of it.
type loss struct {
	owner string
	lock  *onlineLock
	entry *linear.Entry
	when  int64
}

// maxBehind is the number of operations on a lock that may start while an older
// one is open.
const maxBehind = 1 << 14

// NewOnline starts to judge a history with this header. The error is an
// [*history.InvalidError].
func NewOnline(h history.Header) (*Online, error) {
	valid, err := history.NewValidator(&h)
	if err != nil {
		return nil, err
	}
	return &Online{
		header: h, claim: filled(h.Claims), valid: valid, substance: newSubstance(),
		byName: map[string]*onlineLock{}, open: map[int64]*onlineOp{}, v: Verdict{Outcome: OutcomeOK},
	}, nil
}

// Add processes the next event and returns the verdict so far. ok means no
// violation yet, unknown that Online could not follow a lock any further, and
// violated is final. The error is an [*history.InvalidError]. After a violation or
// an error every call returns the same.
func (o *Online) Add(e history.Event) (Verdict, error) {
	if o.err != nil || o.v.Outcome == Violated {
		return o.v, o.err
	}
	if o.err = o.valid.Add(&e); o.err != nil {
		o.v = Verdict{}
		return o.v, o.err
	}
	o.substance.add(&e)
	o.pass(e.Time)
	switch e.Kind {
	case history.Invoke:
		p := new(op)
		if p.begin(&e); p.onLock() {
			o.invoke(p)
		}
	case history.OK, history.Fail, history.Info:
		if p := o.open[e.Op]; p != nil {
			p.returned(&e)
			o.finish(p, false)
		}
	case history.Note:
		if e.F == history.Lost {
			o.tell(&e)
		}
		if e.F == history.Crashed {
			for _, p := range o.stillOpen() {
				if p.client == e.Client {
					o.finish(p, true)
				}
			}
		}
	case history.End:
		for _, p := range o.stillOpen() {
			o.finish(p, false)
		}
		for len(o.told) > 0 {
			o.forget(0)
		}
		for _, l := range o.locks {
			l.stream.Close()
			o.take(l)
		}
	}
	return o.v, nil
}

// Close returns the final verdict. A history without its [history.End] event is
// invalid, unless a violation was found before. As with [Judge], a run that proves
// nothing is never ok.
func (o *Online) Close() (Verdict, error) {
	if o.err != nil || o.v.Outcome == Violated {
		return o.v, o.err
	}
	if o.err = o.valid.Close(); o.err != nil {
		o.v = Verdict{}
		return o.v, o.err
	}
	if why := o.substance.missing(&o.header); why != "" && o.v.Outcome == OutcomeOK {
		o.v = Verdict{Outcome: Unknown, Reason: why}
	}
	for _, l := range o.locks {
		if l.doubt != nil && o.v.Outcome == OutcomeOK {
			o.v = Verdict{Outcome: Unknown, Ops: opIDs(l.doubt), Reason: "an acquire was open for so long that its outcome was no longer waited for"}
		}
	}
	return o.v, nil
}

// pass advances the time of the locks that wait for it.
func (o *Online) pass(now int64) {
	if now == o.now {
		return
	}
	o.now = now
	waiting := o.waiting
	o.waiting = o.waiting[:0]
	for _, l := range waiting {
		l.stream.Advance(now)
		o.take(l)
	}
}

func (o *Online) invoke(p *op) {
	l := o.byName[p.lock]
	if l == nil {
		l = &onlineLock{name: p.lock}
		l.stream = linear.NewStream(rulesOf(o.claim, &l.owners), o.claim.Lease)
		o.byName[p.lock] = l
		o.locks = append(o.locks, l)
	}
	next := &onlineOp{op: p, lock: l, entry: l.stream.Invoke(p.inv)}
	o.open[p.id] = next
	if oldest := l.stream.Oldest(); oldest != nil && l.stream.Behind() > maxBehind {
		for _, p := range o.stillOpen() {
			if p.entry == oldest {
				o.goOnWithout(p)
			}
		}
		if i := slices.IndexFunc(o.told, func(n *loss) bool { return n.entry == oldest }); i >= 0 {
			o.forget(i)
		}
	}
}

// tell reserves an entry for the release that reports the loss of a hold, at the
// first notice of it.
func (o *Online) tell(n *history.Event) {
	if l := o.byName[n.Lock]; l != nil && o.toldOf(n.Owner, l) < 0 {
		o.told = append(o.told, &loss{n.Owner, l, l.stream.Invoke(n.Time), n.Time})
	}
}

// toldOf is the place of an owner's notice, or -1.
func (o *Online) toldOf(owner string, l *onlineLock) int {
	return slices.IndexFunc(o.told, func(n *loss) bool { return n.owner == owner && n.lock == l })
}

// forget frees the entry of the ith notice.
func (o *Online) forget(i int) {
	n := o.told[i]
	o.told = slices.Delete(o.told, i, i+1)
	n.lock.stream.Drop(n.entry, o.now)
	o.take(n.lock)
}

// lockOp is [lockOpOf] before the future is known: an extension may yet give a hold a
// later end than its lease.
func (o *Online) lockOp(p *onlineOp, gone bool) (l linear.Op, known bool) {
	l, known = lockOpOf(p.op, o.claim, p.lock.owners.Number(p.owner), gone)
	l.Renewed = l.Renewed || o.claim.Extends
	return l, known
}

// goOnWithout gives up waiting for the outcome of an operation.
func (o *Online) goOnWithout(p *onlineOp) {
	l, _ := o.lockOp(p, false)
	if p.f != history.Acquire {
		p.lock.stream.GiveUp("too much happened while an operation was open", &l)
	} else {
		p.taken = true
		l.Lease = linear.Forever // should it fail in the end, it may have held the lock for all that time
		p.lock.stream.Finish(p.entry, l, o.now)
	}
	o.take(p.lock)
}

// finish records the outcome of an operation. gone means that its client crashed.
func (o *Online) finish(p *onlineOp, gone bool) {
	delete(o.open, p.id)
	l, known := o.lockOp(p, gone)
	if o.claim.Fairness && l.Kind == linear.FoundBusy && o.queued(p) {
		known = false
	}
	if mayQueue(p.op) {
		p.lock.waited = max(p.lock.waited, p.ret)
	}
	if i := o.toldOf(p.owner, p.lock); i >= 0 {
		n := o.told[i]
		switch {
		case (l.Kind == linear.FoundLost || l.Kind == linear.HeldNothing) && n.when < p.inv: // it was lost by then
			p.entry, n.entry = n.entry, p.entry
			l.Kind, l.Call = linear.FoundLost, n.when
			o.forget(i)
		case knows(p.op) && (p.kind != history.OK || n.when < p.ret):
			o.forget(i)
		}
	}
	switch {
	case p.taken:
		if l.Kind != linear.MaybeGot || l.Crashed {
			p.lock.doubt = cmp.Or(p.lock.doubt, p.op)
		}
	case known:
		p.lock.stream.Finish(p.entry, l, o.now)
	default:
		p.lock.stream.Drop(p.entry, o.now)
	}
	o.take(p.lock)
}

// queued reports whether another acquire was open during one that ends now.
func (o *Online) queued(p *onlineOp) bool {
	if p.lock.waited >= p.inv {
		return true
	}
	for _, other := range o.open {
		if other.lock == p.lock && mayQueue(other.op) {
			return true
		}
	}
	return false
}

// take adopts the verdict on the stream of a lock.
func (o *Online) take(l *onlineLock) {
	if l.stream.Waits() && !slices.Contains(o.waiting, l) {
		o.waiting = append(o.waiting, l)
	}
	d := l.stream.Ruling()
	if d.Outcome == OutcomeOK || o.v.Outcome == Violated || (d.Outcome == Unknown && o.v.Outcome == Unknown) {
		return
	}
	why := d.Why
	if len(o.locks) > 1 {
		why = "lock " + l.name + ": " + why
	}
	if d.Outcome == Violated && o.claim.Session > 0 {
		d.Outcome, why = Unknown, "a session that ended is not seen before the end of the history"
	}
	o.v = Verdict{Outcome: d.Outcome, Reason: why, Ops: d.Ops}
	if d.Outcome == Violated {
		o.v.AtMS = ms(d.At)
	}
}

// stillOpen lists the operations without a return, by id.
func (o *Online) stillOpen() []*onlineOp {
	ids := slices.Sorted(maps.Keys(o.open))
	open := make([]*onlineOp, len(ids))
	for i, id := range ids {
		open[i] = o.open[id]
	}
	return open
}
