package reports

import (
	"html/template"
	"strings"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/results"
)

// scenarioView is the head of a scenario's section.
type scenarioView struct {
	Anchor, Name, Title string
	Story               []string // paragraphs
	Skips               []skipView
	Unplayed            []skipView
}

type skipView struct{ Lock, Reason string }

// runView is one lock in one scenario: its worst run in full, the others as a
// list.
type runView struct {
	Anchor, Lock, Class, Symbol, Words string
	Unexpected, Open                   bool
	Failure, Tail                      string // the reason, and the lines that explain it
	Verdicts                           []verdictView
	Others                             []otherView
	Facts                              string
	Replay, Hash                       string

	Absent   string // why there is no picture
	Story    []sentenceView
	Timeline template.HTML
	Caption  string
	Causes   []causeView
}

// causeView is the picture of what proves violations, and the reasons given.
type causeView struct {
	Picture template.HTML
	About   []reasonView
}

type reasonView struct{ Property, Outcome, Reason string }

type verdictView struct {
	Property, Outcome, Symbol, Class, Expected, Reason, Facts, Because string
	Unexpected                                                         bool
}

type otherView struct{ Seed, Symbol, Class, Words, Replay string }

type sentenceView struct{ Class, Time, Text string }

func (p *pager) scenario(i int, s string) error {
	a := p.about(s)
	v := scenarioView{Anchor: scenarioAnchor(i), Name: name(s), Title: clean(a.Title)}
	for _, par := range strings.Split(cleanLines(a.Story), "\n\n") {
		if par = strings.Join(strings.Fields(par), " "); par != "" {
			v.Story = append(v.Story, par)
		}
	}
	for _, l := range p.m.locks {
		if c := p.m.cell(s, l); c.mark() == markSkipped {
			if _, cannot := cannotRun(c.skip); !cannot {
				v.Skips = append(v.Skips, skipView{name(l), clean(c.skip.Reason)})
			}
		}
	}
	for _, u := range p.m.unplayedIn(s) {
		v.Unplayed = append(v.Unplayed, skipView{u.With(), u.Reason})
	}
	if err := p.part("scenario", v); err != nil {
		return err
	}
	for j, l := range p.m.locks {
		c := p.m.cell(s, l)
		if c == nil || len(c.runs) == 0 {
			continue
		}
		if err := p.part("run", p.run(runAnchor(i, j), c)); err != nil {
			return err
		}
	}
	return p.part("scenario-end", v)
}

func (p *pager) run(anchor string, c *cell) runView {
	r := c.worst()
	k := markOf(r)
	v := runView{
		Anchor: anchor, Lock: name(c.lock), Class: looks[k].word, Symbol: looks[k].symbol, Words: inWords(r),
		Unexpected: !r.Passed(), Open: !r.Passed() || len(p.d.Results.Runs) <= 3,
		Facts: sizesOf(r), Replay: replayCommand(r), Hash: clean(r.HistorySHA256),
	}
	reason, tail := failureOf(r)
	v.Failure, v.Tail = reason, strings.Join(tail, "\n")
	for _, prop := range propertiesOf(r) {
		v.Verdicts = append(v.Verdicts, viewVerdict(r, prop))
	}
	for _, o := range c.runs {
		if o != r {
			ok := markOf(o)
			v.Others = append(v.Others, otherView{number(o.Seed), looks[ok].symbol, looks[ok].word, inWords(o), replayCommand(o)})
		}
	}
	for _, o := range c.runs {
		h, absent := p.d.history(*o)
		if h == nil {
			if o == r {
				v.Absent = absent
			}
			continue
		}
		f := newFacts(h)
		p.count(c.lock, f)
		if o == r && p.draws(r) {
			v.Timeline, v.Caption = drawTimeline(f, r)
			v.Story = storyView(tell(f, r))
			v.Causes = causeViews(f, r)
		}
	}
	return v
}

// draws says whether a run gets its story and timeline: when there is
// something to see, when its lock is the reference, or when there are few.
func (p *pager) draws(r *results.Run) bool {
	return isInteresting(r) || r.Lock == p.d.Reference || len(p.d.Results.Runs) < drawAllBelow
}

func (p *pager) count(lock string, f *facts) {
	n := p.numbers[lock]
	if n == nil {
		n = &numbers{lock: lock}
		p.numbers[lock] = n
	}
	n.add(f)
}

func viewVerdict(r *results.Run, p checker.Property) verdictView {
	v := r.Verdicts[p]
	out := verdictView{
		Property: clean(string(p)), Outcome: verdictWords(v.Outcome, v.Class), Expected: expectedWords(r, p),
		Reason: clean(v.Reason), Unexpected: !r.Matches(p),
	}
	if v.Outcome != checker.OutcomeOK || out.Unexpected {
		out.Facts = verdictFacts(v)
		out.Because = because(r, p)
	}
	switch v.Outcome {
	case checker.OutcomeOK:
		out.Symbol, out.Class = "✓", "ok"
	case checker.Violated:
		out.Symbol, out.Class = "✗", "broken"
		if v.Class == checker.LeaseOutlived {
			out.Symbol, out.Class = "~", "outlived"
		} else if p != checker.Exclusion {
			out.Symbol, out.Class = "!", "other"
		}
	default:
		out.Symbol, out.Class = "?", "unknown"
	}
	return out
}

func causeViews(f *facts, r *results.Run) []causeView {
	var out []causeView
	for _, c := range causes(r) {
		v := causeView{Picture: drawCause(f, r, c)}
		if v.Picture == "" {
			continue
		}
		for _, p := range c.about {
			verdict := r.Verdicts[p]
			v.About = append(v.About, reasonView{clean(string(p)), verdictWords(verdict.Outcome, verdict.Class), clean(verdict.Reason)})
		}
		out = append(out, v)
	}
	return out
}

func storyView(story []sentence) []sentenceView {
	out := make([]sentenceView, len(story))
	for i, s := range story {
		v := sentenceView{Text: s.text}
		if !s.gap {
			v.Time = instant(s.at)
		}
		switch {
		case s.bad:
			v.Class = "bad"
		case s.fault:
			v.Class = "struck"
		case s.said != "":
			v.Class = "said"
		case s.gap:
			v.Class = "gap"
		}
		out[i] = v
	}
	return out
}

// numbersView is the last section.
type numbersView struct {
	Rows   []numberRow
	Plot   template.HTML
	Absent string
}

func (p *pager) numberView() numbersView {
	var v numbersView
	var all []*numbers
	for _, l := range p.m.locks {
		n := p.numbers[l]
		if n == nil {
			continue
		}
		all = append(all, n)
		v.Rows = append(v.Rows, n.row())
	}
	if len(all) == 0 {
		v.Absent = "There are no numbers, because no history is part of this report."
		return v
	}
	svg, err := plotHandoffs(all)
	if err != nil {
		v.Absent = "The hand-off times could not be drawn: " + clean(err.Error())
		return v
	}
	if v.Plot = svg; svg == "" {
		v.Absent = "There are no hand-offs to draw: no owner waited for a release."
	}
	return v
}
