package checker

import "github.com/holdfast-go/holdfast/checker/history"

// op is an operation: an invocation and, when it has one, its return.
type op struct {
	id                  int64
	f                   history.Func
	client, owner, lock string
	args                *history.Args // of the history, or nothing; never nil
	inv, ret            int64         // ret is never while the operation is open
	call, back          int64         // inv and ret, and later where a total order says so
	kind                history.Kind  // OK, Fail, Info, or Invoke while it is open
	n                   int32         // its place in the order of invocations
	own                 *account      // of its owner on its lock, nil for one on the resource
	res                 *history.Result
}

// The fields of an operation without arguments or result; only ever read.
var (
	noArgs   history.Args
	noResult history.Result
)

func (o *op) open() bool { return o.kind == history.Invoke }

func (o *op) onLock() bool {
	return o.f == history.Acquire || o.f == history.Release || o.f == history.Inspect
}

func (o *op) unclear() bool { return o.kind == history.Info || o.kind == history.Invoke }

// followsUnclearRelease reports whether the owner had no answer to a release before.
func (o *op) followsUnclearRelease() bool {
	r := o.own.ops.last(o.inv-1, func(p *op) bool { return p.f != history.Inspect })
	return r != nil && r.f == history.Release && r.unclear()
}

// followsUnclearAcquire reports whether the owner had no answer to its acquire before. One
// that was refused meanwhile has done nothing.
func (o *op) followsUnclearAcquire() bool {
	before := o.own.ops.last(o.inv-1, func(p *op) bool { return isAcquire(p) && !p.failed(history.ErrRefused) })
	return before != nil && before.unclear()
}

func (o *op) granted() bool { return o.f == history.Acquire && o.kind == history.OK }

func (o *op) failed(class string) bool { return o.kind == history.Fail && o.res.Error == class }

// beginWith makes it the operation that an event begins.
func (o *op) beginWith(e *history.Event) {
	*o = op{
		id: e.Op, f: e.F, client: e.Client, owner: e.Owner, lock: e.Lock, inv: e.Time, ret: never,
		kind: history.Invoke, args: &noArgs, res: &noResult,
	}
	if e.Args != nil {
		o.args = e.Args
	}
}

func (o *op) returnWith(e *history.Event) {
	o.kind, o.ret = e.Kind, e.Time
	if e.Result != nil {
		o.res = e.Result
	}
}

func opIDs(ops ...*op) []int64 {
	var ids []int64
	seen := map[int64]bool{}
	for _, o := range ops {
		if o != nil && !seen[o.id] {
			seen[o.id] = true
			ids = append(ids, o.id)
		}
	}
	return ids
}

func isAcquire(o *op) bool { return o.f == history.Acquire }

// permits is the number of permits that an acquire asks for or a release gives back. For
// any lock but a semaphore it is one hold.
func (o *op) permits() int { return max(o.args.Permits, 1) }

// weightOf is the part of the lock's capacity that an acquire asks for.
func (x *index) weightOf(o *op) int { return x.claims.Weight(o.args.Share) }

// isWriting reports whether an operation acquires a lock for its owner alone.
func isWriting(o *op) bool { return isAcquire(o) && o.args.Mode != history.Shared }

// next is the next operation of the owner on the lock, or nil.
func (o *op) next() *op {
	if i := o.own.ops.latest(o.inv) + 1; i < len(o.own.ops.all) {
		return o.own.ops.all[i]
	}
	return nil
}

// nextInv is when the owner goes on with another operation on the lock, or never.
func (o *op) nextInv() int64 {
	if next := o.next(); next != nil {
		return next.inv
	}
	return never
}
