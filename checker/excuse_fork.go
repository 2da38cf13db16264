package checker

import (
	"fmt"
	"slices"

	"github.com/holdfast-go/holdfast/checker/internal/linear"
	"github.com/holdfast-go/holdfast/internal/english"
)

// branches divides the operations on a lock after a fault that left two servers of a
// group that both answer. Each server has the operations that it carried out, and those
// from before. A refusal that no log shows is left out, as either server may have given
// it. A hold that was released on the other server lasts as long as this one kept it.
// There are no branches if only one server carried out operations. Without a log all
// operations that end after the fault are left out, but for open releases.
func (t *trace) branches(lock string, ops []linear.Op) (branches [][]linear.Op, why string) {
	fork := slices.IndexFunc(t.faults, func(f *faultSpan) bool { return f.Forks })
	if fork < 0 || t.claims.Nodes > 1 {
		return nil, ""
	}
	since := t.faults[fork].from
	if len(t.changes) == 0 {
		var before []linear.Op
		for _, p := range ops {
			if o := t.op(p.ID); o.ret >= since {
				if o.inv >= since || p.Kind != linear.GaveBack && p.Kind != linear.MaybeGave {
					continue
				}
				p.Kind, p.Return = linear.MaybeGave, linear.Forever // it may have come before the fault
			}
			before = append(before, p)
		}
		return [][]linear.Op{before}, fmt.Sprintf("two servers may have answered after the fault at %s", at(since))
	}
	on := make(map[int64][]string, len(ops)) // which servers carried out an operation
	var nodes []string
	for i := range ops {
		id := ops[i].ID
		on[id] = t.carriedOutBy(t.op(id))
		for _, node := range on[id] {
			if t.op(id).ret >= since && !slices.Contains(nodes, node) {
				nodes = append(nodes, node)
			}
		}
	}
	if len(nodes) < 2 {
		return nil, ""
	}
	slices.Sort(nodes)
	for _, node := range nodes {
		branches = append(branches, t.branch(lock, node, since, ops, on))
	}
	return branches, fmt.Sprintf("%s both answered after the fault at %s, and neither knew of the other", english.And(nodes), at(since))
}

// branch are the operations on one of two servers that both answer.
func (t *trace) branch(lock, node string, since int64, ops []linear.Op, on map[int64][]string) []linear.Op {
	branch := make([]linear.Op, 0, len(ops))
	place := make(map[int64]int, len(ops))
	for _, p := range ops {
		if o := t.op(p.ID); o != nil && o.ret >= since && !slices.Contains(on[p.ID], node) {
			silent := len(on[p.ID]) == 0
			switch p.Kind {
			case linear.GaveBack:
				if !silent {
					p.Kind, p.Return = linear.MaybeGave, linear.Forever
				}
			case linear.MaybeGave:
			case linear.GotLock, linear.MaybeGot:
				if !silent {
					continue
				}
			default:
				continue
			}
		}
		place[p.ID] = len(branch)
		branch = append(branch, p)
	}
	for i := range t.beliefs {
		c := &t.beliefs[i]
		end := t.endingOf(c)
		if c.Lock != lock || end != nil && (end.ret < since || slices.Contains(on[end.id], node)) {
			continue
		}
		asked := t.op(c.AcquireOp)
		if p, has := place[asked.id]; has && branch[p].Kind == linear.GotLock {
			until := max(asked.ret, since) // the servers were one until then
			for s := range asked.own.heldAt(asked.inv, until) {
				if s.node == node {
					until = max(until, s.to)
					break
				}
			}
			if !t.takenAway(asked, node, until) {
				endHold(&branch[p], until-asked.ret)
			}
		}
	}
	return branch
}

// takenAway reports whether a command of another client ended a hold on a server.
func (t *trace) takenAway(asked *op, node string, when int64) bool {
	for _, c := range asked.own.changes.between(when, when) {
		if c.Node == node && c.was == asked.owner && c.ends() {
			return c.command() && c.By != asked.client
		}
	}
	return false
}

func (t *trace) carriedOutBy(o *op) (nodes []string) {
	if o == nil {
		return nil
	}
	for c := range t.commandsOf(o) {
		if !slices.Contains(nodes, c.Node) {
			nodes = append(nodes, c.Node)
		}
	}
	return nodes
}
