package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/internal/story"
	"github.com/holdfast-go/holdfast/reports/results"
)

// proof is the operations that prove one or more violations. Properties may share one.
type proof struct {
	ops   []int64 // by id
	about []checker.Property
}

// proofsOf lists the proofs of the violations of a run, in the order in which
// reports show the properties. It leaves out violations without such operations.
func proofsOf(r *results.Run) []proof {
	var all []proof
	for _, p := range propertiesOf(r) {
		v := r.Verdicts[p]
		if v.Outcome != checker.Violated || len(v.Ops) == 0 {
			continue
		}
		ops := slices.Clone(v.Ops)
		slices.Sort(ops)
		ops = slices.Compact(ops)
		i := slices.IndexFunc(all, func(c proof) bool { return slices.Equal(c.ops, ops) })
		if i < 0 {
			all = append(all, proof{ops: ops})
			i = len(all) - 1
		}
		all[i].about = append(all[i].about, p)
	}
	return all
}

// answer names an operation and its result in a few words.
func answer(f *story.Facts, op *story.Operation) string {
	what := english.Short(english.Name(string(op.Invoke.F)), 16)
	args, wrote := op.Invoke.Args, ""
	if op.Invoke.F == history.Write && args != nil {
		wrote = fmt.Sprintf(" %d", args.Value)
		if args.Token != 0 {
			wrote += ", token " + number(args.Token)
		}
	}
	got := "no answer"
	if e := op.Done; e != nil {
		res := cmp.Or(e.Result, &history.Result{})
		class := english.Short(english.Clean(res.Error), 20)
		switch {
		case e.Kind == history.Info:
			got = "outcome unknown"
			if class != "" && res.Error != history.ErrUnknown {
				got += ", " + class
			}
		case e.Kind == history.Fail:
			got = cmp.Or(class, "failed")
		default:
			got = succeeded(f, op, res)
		}
	}
	return what + wrote + " → " + got
}

// succeeded names the result of an operation that succeeded.
func succeeded(f *story.Facts, op *story.Operation, res *history.Result) string {
	counted := f.History.Header.Claims.Reentrant || res.Count > 1
	switch op.Invoke.F {
	case history.Acquire:
		parts := []string{"granted"}
		if counted {
			parts = append(parts, fmt.Sprintf("count %d", res.Count))
		}
		if res.Token != 0 {
			parts = append(parts, "token "+number(res.Token))
		}
		return strings.Join(parts, ", ")
	case history.Release:
		if counted {
			return fmt.Sprintf("released, count %d", res.Count)
		}
		return "released"
	case history.Extend:
		return "extended"
	case history.Read:
		return fmt.Sprint(res.Value)
	case history.Write:
		if a := op.Invoke.Args; a != nil && a.Base != res.Value {
			return fmt.Sprintf("over %d, had read %d", res.Value, a.Base)
		}
		return fmt.Sprintf("over %d", res.Value)
	case history.Observe:
		return cmp.Or(res.Holder, "nobody")
	case history.Inspect:
		return fmt.Sprintf("count %d", res.Count)
	}
	return "ok"
}
