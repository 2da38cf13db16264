package story

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/reports/results"
)

// maxSentences is the most sentences of a story. It keeps those around a
// violation, and a note replaces the others.
const maxSentences = 25

// weight is the importance of a sentence.
type weight int

const (
	smallTalk  weight = iota // a server's line that concerns only itself
	ordinary                 // normal operation: grants and releases that succeed
	telling                  // a failed operation, or an explanation of what follows
	decisive                 // a fault, or a step of a violation
	unmissable               // two holders, a lost update
)

// Sentence is one step of a story, safe to print.
type Sentence struct {
	At     int64
	Text   string
	Bad    bool // a violation, or a step towards it
	Fault  bool
	Said   string // a line of a server's log
	Gap    bool   // stands for omitted sentences; At is where they began
	grant  bool   // of the lock to an owner that had no hold
	line   int    // of the history; it orders the events of one instant
	weight weight
	actor  string // the client, for the collapsed form
}

// Time is the instant as people read it, "" for a gap.
func (s Sentence) Time() string {
	if s.Gap {
		return ""
	}
	return history.At(s.At)
}

// Tell is the story of a run, in order of time. The text is clean, but not
// escaped for any format.
func Tell(f *Facts, r *results.Run) []Sentence { return shorten(tellAll(f, r)) }

// tellAll is a story before anything is left out.
func tellAll(f *Facts, r *results.Run) []Sentence {
	t := newTeller(f, r)
	t.sumOverlaps()
	for i := range f.History.Events {
		t.event(&f.History.Events[i])
	}
	for _, o := range f.Overlaps {
		if !t.summed[o.B.AcquireOp] {
			t.overlapEnds(o)
		}
	}
	slices.SortStableFunc(t.out, func(a, b Sentence) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.line, b.line))
	})
	if allHolds(r) { // then the run has no violation
		for i := range t.out {
			t.out[i].Bad = false
		}
	}
	return t.out
}

// Gist is the story of a run in at most the given number of sentences.
func Gist(h *history.History, r *results.Run, most int) []Sentence {
	in := slices.DeleteFunc(Tell(NewFacts(h), r), func(s Sentence) bool { return s.Gap })
	return gist(in, slices.IndexFunc(in, func(s Sentence) bool { return s.Bad }), most)
}

// allHolds reports whether the judges gave every property of a run the verdict
// ok.
func allHolds(r *results.Run) bool {
	if r == nil || r.Failure != "" || len(r.Verdicts) == 0 {
		return false
	}
	for _, v := range r.Verdicts {
		if v.Outcome != checker.OutcomeOK {
			return false
		}
	}
	return true
}

func newTeller(f *Facts, r *results.Run) *teller {
	t := &teller{f: f, held: map[string]map[string]string{}, proven: ProofOps(r), beliefs: make(map[int64]*checker.Belief, len(f.Beliefs))}
	for i := range f.Beliefs {
		t.beliefs[f.Beliefs[i].AcquireOp] = &f.Beliefs[i]
	}
	return t
}

// sumOverlaps merges the later grants that overlap with one stale holder into one
// sentence, if there are many.
func (t *teller) sumOverlaps() {
	t.summed = map[int64]bool{}
	groups := map[int64][]checker.Overlap{}
	for _, o := range t.f.Overlaps {
		groups[o.A.AcquireOp] = append(groups[o.A.AcquireOp], o)
	}
	for i := range t.f.Beliefs {
		a := &t.f.Beliefs[i]
		rest := groups[a.AcquireOp]
		if len(rest) <= 3 {
			continue
		}
		var names []string
		var longest, until int64
		rest = rest[1:]
		for _, o := range rest {
			t.summed[o.B.AcquireOp] = true
			if o.B.EndOp != 0 {
				t.summed[o.B.EndOp] = true
			}
			if who := t.f.NameOf(o.B.Client, o.B.Owner); !slices.Contains(names, who) {
				names = append(names, who)
			}
			longest, until = max(longest, o.To-o.From), max(until, o.To)
		}
		slices.SortFunc(names, Natural)
		who := t.f.NameOf(a.Client, a.Owner)
		t.out = append(t.out, Sentence{
			At: rest[0].From, line: t.f.line(t.f.Ops[rest[0].B.AcquireOp].Done), weight: unmissable, Bad: true, actor: who,
			Text: fmt.Sprintf("Until %s: %d more grants, to %s, while %s still believes that it holds the lock; the longest overlap is %s.",
				history.At(until), len(rest), english.And(names), who, length(longest)),
		})
	}
}

// proofOps are the operations that prove a violation.
func ProofOps(r *results.Run) map[int64]bool {
	ops := map[int64]bool{}
	if r != nil {
		for _, v := range r.Verdicts {
			if v.Outcome == checker.Violated {
				for _, op := range v.Ops {
					ops[op] = true
				}
			}
		}
	}
	return ops
}

// Narrate states every event of a history, one text for each, without its time.
// Unlike a story, it omits nothing.
func Narrate(h *history.History) []string {
	f := NewFacts(h)
	t := newTeller(f, nil)
	t.all = true
	texts := make([]string, len(h.Events))
	for i := range h.Events {
		t.out = nil
		t.event(&h.Events[i])
		parts := english.Words(t.out, func(s Sentence) string { return s.Text })
		texts[i] = strings.Join(parts, " ")
	}
	return texts
}

type teller struct {
	f       *Facts
	all     bool // includes events that a story omits
	out     []Sentence
	beliefs map[int64]*checker.Belief
	proven  map[int64]bool
	summed  map[int64]bool               // operations in a merged sentence
	held    map[string]map[string]string // node -> key -> holder, as of now
}

func (t *teller) say(e *history.Event, w weight, format string, args ...any) *Sentence {
	if w < telling && t.proven[e.Op] {
		w = telling
	}
	t.out = append(t.out, Sentence{At: e.Time, line: t.f.line(e), Text: fmt.Sprintf(format, args...), weight: w, actor: t.f.NameOf(e.Client, e.Owner)})
	return &t.out[len(t.out)-1]
}

func (t *teller) event(e *history.Event) {
	switch e.Kind {
	case history.Invoke:
		if t.all {
			t.begins(e)
		}
	case history.OK:
		t.succeeded(e)
	case history.Fail, history.Info:
		t.refused(e)
	case history.Note:
		t.note(e)
	case history.Fault:
		t.fault(e)
	case history.Server:
		if e.Server != nil {
			t.server(e)
		}
	case history.Log:
		if e.Log != nil {
			t.says(e)
		}
	case history.End:
		t.end(e)
	}
}

func (t *teller) fault(e *history.Event) {
	x := e.Fault
	if x == nil {
		return
	}
	what := FaultName(x.Name, x.Targets)
	detail := ""
	if d := strings.TrimSuffix(english.Clean(x.Detail), "."); d != "" {
		detail = ": " + d
	}
	switch x.Phase {
	case history.PhaseEnd:
		t.say(e, decisive, "The %s ends%s.", what, detail).Fault = true
	case history.PhaseFailed:
		t.say(e, decisive, "Fault %s%s.", what, cmp.Or(detail, ": could not strike")).Fault = true
	default:
		s := t.f.strikeOf(x)
		lasts := ""
		if s.Lasted() {
			lasts = ", for " + length(s.To-s.From)
			if s.Open() {
				lasts = ", to the end of the run"
			}
		}
		t.say(e, decisive, "Fault: %s%s%s.", what, lasts, detail).Fault = true
		t.notReplicated(e)
	}
}

func FaultName(kind string, targets []string) string {
	if len(targets) == 0 {
		return english.Name(kind)
	}
	return english.Name(kind) + " of " + english.And(english.Words(targets, english.Name))
}

func (t *teller) end(e *history.Event) {
	if t.all {
		t.say(e, smallTalk, "The run is over.")
	}
	if e.End == nil {
		return
	}
	if e.End.CutOff {
		t.say(e, decisive, "The recording was cut off here; what came after, nobody knows.")
		return
	}
	if len(e.End.Keys) > 0 {
		keys := make([]string, 0, 4)
		for i, k := range e.End.Keys {
			if i == 3 {
				keys = append(keys, fmt.Sprintf("%d more", len(e.End.Keys)-3))
				break
			}
			keys = append(keys, english.Name(k))
		}
		t.say(e, decisive, "When all is quiet, keys that should be gone are still there: %s.", english.And(keys))
	}
	for _, left := range []struct {
		n    int
		what string
	}{
		{e.End.Subscriptions, "channel subscription"}, {e.End.Connections, "connection"}, {len(e.End.Goroutines), "goroutine"},
	} {
		if left.n > 0 {
			t.say(e, decisive, "When all is quiet, %s left over.", english.Count(left.n, left.what))
		}
	}
}

// overlapEnds describes how an overlap of two holders ends.
func (t *teller) overlapEnds(o checker.Overlap) {
	c, other := o.A, o.B
	if o.B.To < o.A.To {
		c, other = o.B, o.A
	}
	who, how := t.f.NameOf(c.Client, c.Owner), ""
	switch c.EndedBy {
	case "release":
		how = who + " lets go"
	case "lost":
		how = who + " stops, because it learned that its hold is lost"
	case "crash":
		how = who + " is gone"
	default:
		how = "The run is over"
	}
	t.out = append(t.out, Sentence{
		At: o.To, line: t.f.lineOfEnd(c), weight: unmissable, Bad: true, actor: who,
		Text: fmt.Sprintf("%s: the time of %s, %s and %s, ends after %s.", how, t.f.CrowdOf(o), who, t.f.NameOf(other.Client, other.Owner), length(o.To-o.From)),
	})
}

func length(ns int64) string { return english.Span(time.Duration(ns)) }

func number(n uint64) string { return strconv.FormatUint(n, 10) }
