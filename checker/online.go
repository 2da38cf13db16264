package checker

import (
	"cmp"
	"maps"
	"slices"

	"github.com/holdfast-go/holdfast/checker/linear"
	"github.com/holdfast-go/holdfast/history"
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
	told      []*onlineOp         // acquires that failed after a loss was told; their owners go on
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
	// told is the place of the release that is to say that the hold is lost, where its
	// owner was told while this acquire was under way; nil otherwise.
	told *linear.Entry
	when int64 // of told
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
		for _, p := range o.told {
			o.forget(p)
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
	if i := slices.IndexFunc(o.told, func(a *onlineOp) bool { return a.owner == p.owner && a.lock == l }); i >= 0 {
		if p.f == history.Release {
			next.told, next.when = o.told[i].told, o.told[i].when
		} else {
			o.forget(o.told[i])
		}
		o.told = slices.Delete(o.told, i, i+1)
	}
	if oldest := l.stream.Oldest(); oldest != nil && l.stream.Behind() > maxBehind {
		for _, p := range o.stillOpen() {
			if p.entry == oldest {
				o.goOnWithout(p)
			}
			if p.told == oldest {
				o.forget(p)
			}
		}
		o.told = slices.DeleteFunc(o.told, func(p *onlineOp) bool {
			old := p.told == oldest
			if old {
				o.forget(p)
			}
			return old
		})
	}
}

// tell reserves an entry for the release of a hold whose owner is notified of its
// loss during another acquire.
func (o *Online) tell(n *history.Event) {
	for _, p := range o.stillOpen() {
		if p.f == history.Acquire && p.owner == n.Owner && p.lock.name == n.Lock && p.told == nil {
			p.told, p.when = p.lock.stream.Invoke(n.Time), n.Time
		}
	}
}

// forget frees the reserved entry.
func (o *Online) forget(p *onlineOp) {
	if p.told != nil {
		p.lock.stream.Drop(p.told, o.now)
		p.told = nil
		o.take(p.lock)
	}
}

// goOnWithout gives up waiting for the outcome of an operation.
func (o *Online) goOnWithout(p *onlineOp) {
	l, _ := lockOpOf(p.op, o.claim, p.lock.owners.Number(p.owner), false)
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
	l, known := lockOpOf(p.op, o.claim, p.lock.owners.Number(p.owner), gone)
	if o.claim.Fairness && l.Kind == linear.FoundBusy && o.queued(p) {
		known = false
	}
	if waits(p.op) {
		p.lock.waited = max(p.lock.waited, p.ret)
	}
	switch {
	case p.told == nil:
	case l.Kind == linear.FoundLost:
		p.entry, p.told = p.told, p.entry
		l.Call = p.when
		o.forget(p)
	case p.f == history.Acquire && (p.kind == history.Fail || p.kind == history.Info):
		o.told = append(o.told, p)
	default:
		o.forget(p)
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

// queued reports whether another acquire waited during one that ends now.
func (o *Online) queued(p *onlineOp) bool {
	if p.lock.waited >= p.inv {
		return true
	}
	for _, other := range o.open {
		if other.lock == p.lock && waits(other.op) {
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
