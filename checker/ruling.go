package checker

import "fmt"

// ruling is an answer with its reason.
type ruling struct {
	outcome Outcome
	ops     []int64 // what proves it, or what keeps it open; at most maxCause
	why     string  // one line; empty when Good
	at      int64   // when Violated: the return that nothing allows, 0 when not known
}

// maxCause is how many operations a ruling or a verdict names at most.
const maxCause = 5

func good() ruling { return ruling{outcome: Good} }

// undecided is the ruling of a step that leaves the question to the next.
func undecided(why string, ops ...*lockOp) ruling {
	return ruling{outcome: Unknown, ops: idsOf(ops...), why: why}
}

func contradiction(ops []*lockOp, format string, args ...any) ruling {
	return ruling{outcome: Violated, ops: idsOf(ops...), why: fmt.Sprintf(format, args...)}
}

// idsOf lists at most maxCause ids, without nil and repetitions.
func idsOf(ops ...*lockOp) []int64 {
	var ids []int64
next:
	for _, o := range ops {
		if o == nil || len(ids) == maxCause {
			continue
		}
		for _, id := range ids {
			if id == o.id {
				continue next
			}
		}
		ids = append(ids, o.id)
	}
	return ids
}
