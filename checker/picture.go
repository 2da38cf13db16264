package checker

import (
	"fmt"
	"io"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/checker/internal/linear"
)

// pictureOps is the number of operations in a picture.
const pictureOps = 200

// Picture writes porcupine's interactive drawing of a history as HTML: of the lock with
// the violation, or of the first one. It shows up to 200 lock operations: all of a short
// history, otherwise those around the violation.
func Picture(h *history.History, w io.Writer) error {
	if err := history.Validate(h); err != nil {
		return err
	}
	t := newTrace(h)
	r := t.rules()
	var ops []linear.Op
	for i, lock := range t.locks {
		l, _ := t.lockOps(lock)
		at, bad := linear.Violation(l, r)
		if bad || i == 0 {
			ops = l
		}
		if bad {
			if len(l) > pictureOps {
				ops = t.around(l, t.illegal(l, at).Ops)
			}
			break
		}
	}
	if err := linear.Draw(w, ops[:min(len(ops), pictureOps)], r, t.endTime); err != nil {
		return fmt.Errorf("draw history: %w", err)
	}
	return nil
}

// around selects the operations of a cause and those concurrent with them. It
// omits a release without its acquire, because the slice starts with a free lock.
func (t *trace) around(ops []linear.Op, cause []int64) []linear.Op {
	from, to := int64(linear.Forever), int64(0)
	for _, id := range cause {
		o := t.op(id)
		from, to = min(from, o.inv), max(to, min(o.ret, t.endTime))
	}
	var out []linear.Op
	for _, o := range ops {
		if o.Call <= to && o.Return >= from && (o.Call >= from || o.Kind == linear.GotLock) {
			out = append(out, o)
		}
	}
	return out
}
