package suite

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/play"
)

// Moment is the moment at which a replay stops: a line of the history, an
// operation, or a time.
type Moment struct {
	line int
	op   int64
	at   time.Duration
}

// MomentError reports a text that is no moment, or no moment of a run.
type MomentError struct{ msg, Hint string }

func (e *MomentError) Error() string { return e.msg }

const momentHint = "give a line of the history (12), an operation (op 12) or a time (12.5s)"

// ParseMoment reads a moment. Its error is a [*MomentError].
func ParseMoment(s string) (Moment, error) {
	bad := func(why string) (Moment, error) {
		return Moment{}, &MomentError{fmt.Sprintf("%q: %s", s, why), momentHint}
	}
	word := strings.TrimSpace(s)
	if rest, ok := strings.CutPrefix(word, "op"); ok {
		op, err := strconv.ParseInt(strings.TrimSpace(rest), 10, 64)
		if err != nil || op < 1 {
			return bad("not the number of an operation")
		}
		return Moment{op: op}, nil
	}
	number := strings.TrimSpace(strings.TrimPrefix(word, "line"))
	if line, err := strconv.Atoi(number); err == nil {
		if line < 2 {
			return bad("events begin on line 2, after the header")
		}
		return Moment{line: line}, nil
	}
	at, err := time.ParseDuration(word)
	switch {
	case err != nil:
		return bad("neither a line, an operation nor a time")
	case at < 0:
		return bad("a run begins at 0s")
	}
	return Moment{at: at}, nil
}

// In finds the moment in the stored history of a run, and says in words which
// it is. An operation stands for its return, or its call if it never returned.
// Its error is a [*MomentError].
func (m Moment) In(h *history.History) (stop play.Stop, words string, err error) {
	last := h.Events[len(h.Events)-1]
	i := -1
	switch {
	case m.op > 0:
		for j, e := range h.Events {
			if e.Op == m.op {
				i = j
			}
		}
		if i < 0 {
			return stop, "", &MomentError{fmt.Sprintf("the history has no operation %d", m.op), fmt.Sprintf("its last one is op %d", lastOp(h))}
		}
	case m.line > 0:
		i = m.line - 2
		if i >= len(h.Events) {
			return stop, "", &MomentError{fmt.Sprintf("the history has no line %d", m.line), fmt.Sprintf("its last one is %d", len(h.Events)+1)}
		}
	default:
		if int64(m.at) >= last.Time {
			return stop, "", &MomentError{fmt.Sprintf("the run is over at %s, before %s", time.Duration(last.Time), m.at), momentHint}
		}
		return play.Stop{At: m.at}, "at " + m.at.String(), nil
	}
	e := h.Events[i]
	if e.Kind == history.End {
		return stop, "", &MomentError{fmt.Sprintf("line %d is the end of the run: nothing is left to look at", i+2), "stop at an earlier line"}
	}
	return play.Stop{Event: &e}, fmt.Sprintf("at line %d", i+2), nil
}

func lastOp(h *history.History) (last int64) {
	for _, e := range h.Events {
		last = max(last, e.Op)
	}
	return last
}
