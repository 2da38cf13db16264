package faults

import (
	"cmp"
	"context"
	"slices"
)

// Vocabulary lists every kind of fault, sorted by name.
func Vocabulary() []Kind {
	kinds := []Kind{
		cancel, clockDrift, clockJump, crash, cutReplication, delay, deleteKey,
		dropMessage, failover, holdReply, nodeCrash, nodeRestart, partition,
		pause, replicationLag, reset, scriptFlush, slowSubscribe,
	}
	for i := range kinds {
		kinds[i] = checked(kinds[i])
	}
	slices.SortFunc(kinds, func(a, b Kind) int { return cmp.Compare(a.Name, b.Name) })
	return kinds
}

// Lookup finds a kind of fault by its name.
func Lookup(name string) (Kind, bool) {
	for _, k := range Vocabulary() {
		if k.Name == name {
			return k, true
		}
	}
	return Kind{}, false
}

// checked puts the checks that every fault shares before the kind's own.
func checked(k Kind) Kind {
	own := k.Available
	k.Available = func(s Spec, t Topology) error {
		if err := checkCommon(k, s, t); err != nil {
			return err
		}
		if own == nil {
			return nil
		}
		return own(s, t)
	}
	return k
}

// strikeFunc is a Fault that needs no state.
type strikeFunc func(ctx context.Context, w World) (string, func() error, error)

func (f strikeFunc) Strike(ctx context.Context, w World) (string, func() error, error) {
	return f(ctx, w)
}
