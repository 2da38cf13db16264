package linear

import "fmt"

// Ruling is an answer with its reason.
type Ruling struct {
	Outcome Outcome
	Ops     []int64 // what proves it, or what keeps it open; at most MaxCause
	Why     string  // one line; empty when OutcomeOK
	At      int64   // when Violated: the return that nothing allows, 0 when not known
	settled bool    // At is to stay: whether an earlier return is illegal is hard to tell
}

// MaxCause is the number of operations a ruling or a verdict names at most.
const MaxCause = 5

func good() Ruling { return Ruling{Outcome: OutcomeOK} }

// undecided is the ruling of a step that leaves the question to the next.
func undecided(why string, ops ...*Op) Ruling {
	return Ruling{Outcome: Unknown, Ops: idsOf(ops...), Why: why}
}

func contradiction(ops []*Op, format string, args ...any) Ruling {
	return Ruling{Outcome: Violated, Ops: idsOf(ops...), Why: fmt.Sprintf(format, args...)}
}

// idsOf lists at most MaxCause ids, without nil and repetitions.
func idsOf(ops ...*Op) []int64 {
	var ids []int64
next:
	for _, o := range ops {
		if o == nil || len(ids) == MaxCause {
			continue
		}
		for _, id := range ids {
			if id == o.ID {
				continue next
			}
		}
		ids = append(ids, o.ID)
	}
	return ids
}
