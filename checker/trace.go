package checker

import "github.com/holdfast-go/holdfast/checker/history"

// trace is a valid history, indexed for the judges. It is built once and only
// read after that. Each room answers the questions about one thing.
type trace struct {
	*index
	*faultLog
	*serverLog
	*believers

	blamed  map[ownerLock][]blame // in order of time; nil before the first use
	fencing Verdict               // where the lock claims tokens
	// tokens says that fencing tokens give the order of the holds: as far as clients
	// saw, they grow. Otherwise fencing is violated, and linearizability is judged
	// without them.
	tokens bool
}

func newTrace(h *history.History) *trace {
	x := newIndex(h)
	f := newFaultLog(x)
	t := &trace{index: x, faultLog: f, serverLog: newServerLog(x, f), believers: newBelievers(x)}
	if t.claims.Fencing {
		t.fencing = fencingJudge{t}.judge()
		t.tokens = t.fencing.Outcome == OutcomeOK
	}
	return t
}
