package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/reports/results"
)

// cause is the operations that prove one or more violations. Properties with the
// same proof share a cause.
type cause struct {
	ops   []int64 // by id
	about []checker.Property
}

// causes lists the proofs of the violations of a run, in the order in which
// reports show the properties. It leaves out violations without such operations.
func causes(r *results.Run) []cause {
	var all []cause
	for _, p := range propertiesOf(r) {
		v := r.Verdicts[p]
		if v.Outcome != checker.Violated || len(v.Ops) == 0 {
			continue
		}
		ops := slices.Clone(v.Ops)
		slices.Sort(ops)
		ops = slices.Compact(ops)
		i := slices.IndexFunc(all, func(c cause) bool { return slices.Equal(c.ops, ops) })
		if i < 0 {
			all = append(all, cause{ops: ops})
			i = len(all) - 1
		}
		all[i].about = append(all[i].about, p)
	}
	return all
}

// causeLane is the part of a cause that one owner did.
type causeLane struct {
	client, owner string
	bars          []causeBar
	holds         []*checker.Belief
	rows          labelRows // of the bars' labels
	top, bar      float64   // where the lane begins, and its bars
}

// causeBar is one operation.
type causeBar struct {
	id     int64
	op     *operation
	answer string // its result
	row    int
	x      float64 // of its label
}

// ends is when an operation returned. An open operation has no end.
func (b *causeBar) ends() (at int64, ok bool) {
	if b.op.done == nil {
		return 0, false
	}
	return b.op.done.Time, true
}

// lanesOf finds the operations of a cause, and the holds that they belong to.
func lanesOf(f *facts, c cause) []causeLane {
	var lanes []causeLane
	for _, id := range c.ops {
		op := f.ops[id]
		if op == nil {
			continue
		}
		e := op.invoke
		i := slices.IndexFunc(lanes, func(l causeLane) bool { return l.client == e.Client && l.owner == e.Owner })
		if i < 0 {
			lanes = append(lanes, causeLane{client: e.Client, owner: e.Owner})
			i = len(lanes) - 1
		}
		lanes[i].bars = append(lanes[i].bars, causeBar{id: id, op: op, answer: answer(f, op)})
	}
	slices.SortStableFunc(lanes, func(a, b causeLane) int { return natural(a.owner, b.owner) })
	for i := range lanes {
		l := &lanes[i]
		slices.SortStableFunc(l.bars, func(a, b causeBar) int { return cmp.Compare(a.op.invoke.Time, b.op.invoke.Time) })
		for j := range f.claims {
			if k := &f.claims[j]; k.Client == l.client && k.Owner == l.owner && slices.ContainsFunc(l.bars, func(b causeBar) bool { return belongs(k, &b) }) {
				l.holds = append(l.holds, k)
			}
		}
	}
	return lanes
}

// belongs reports whether an operation began or ended a hold, or ran within it.
func belongs(c *checker.Belief, b *causeBar) bool {
	if b.id == c.AcquireOp || b.id == c.EndOp {
		return true
	}
	from := b.op.invoke.Time
	to, returned := b.ends()
	return b.op.invoke.Lock == c.Lock && from < c.To && (!returned || to > c.From)
}

// answer names an operation and its result in a few words.
func answer(f *facts, op *operation) string {
	what := short(name(string(op.invoke.F)), 16)
	args, wrote := op.invoke.Args, ""
	if op.invoke.F == history.Write && args != nil {
		wrote = fmt.Sprintf(" %d", args.Value)
		if args.Token != 0 {
			wrote += ", token " + number(args.Token)
		}
	}
	got := "no answer"
	if e := op.done; e != nil {
		res := e.Result
		if res == nil {
			res = &history.Result{}
		}
		class := ""
		if res.Error != "" {
			class = short(clean(res.Error), 20)
		}
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
func succeeded(f *facts, op *operation, res *history.Result) string {
	counted := f.h.Header.Claims.Reentrant || res.Count > 1
	switch op.invoke.F {
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
		if a := op.invoke.Args; a != nil && a.Base != res.Value {
			return fmt.Sprintf("over %d, had read %d", res.Value, a.Base)
		}
		return fmt.Sprintf("over %d", res.Value)
	case history.Inspect:
		return fmt.Sprintf("count %d", res.Count)
	}
	return "ok"
}
