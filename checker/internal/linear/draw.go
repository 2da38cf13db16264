package linear

import (
	"io"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// Violation finds the return that no order of the operations allows, within
// seconds: illegal is false when the operations are legal, and when neither
// judge can tell.
func Violation(ops []Op, r Rules) (at int64, illegal bool) {
	j := judge(byFast)
	if j(ops, r, 5*time.Second) == Unknown {
		j = Porcupine
	}
	if j(ops, r, 5*time.Second) != Violated {
		return 0, false
	}
	return firstIllegal(ops, r, j, time.Now().Add(10*time.Second)), true
}

// Draw writes porcupine's drawing of operations, as HTML: the longest orders
// that it found, and the operation that fits none of them. Operations that never
// return are drawn until end.
func Draw(w io.Writer, ops []Op, r Rules, end int64) error {
	drawn := slices.Clone(ops)
	for i := range drawn {
		o := &drawn[i]
		o.Return = min(o.Return, max(end, o.Call)+1) // porcupine wants finite times
	}
	model := r.porcupine(newMemory(len(drawn)))
	_, info := porcupine.CheckOperationsVerbose(model, operations(drawn), 5*time.Second)
	return porcupine.Visualize(model, info, w)
}
