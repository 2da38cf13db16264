package reports

import (
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/chart"
	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/internal/story"
	"github.com/holdfast-go/holdfast/reports/results"
)

// scenarioView is the head of a scenario's section.
type scenarioView struct {
	Anchor      template.URL
	Hazard      string // where a group begins
	Name, Title string
	File        string   // the scenario itself
	Story       []string // paragraphs
	Quiet       bool     // no run of it deserves printing
	Skips       []skipView
	Unplayed    []skipView
}

type skipView struct{ Locks, Reason string }

// runView is one lock in one scenario: its worst run in full, the others as a list.
type runView struct {
	Anchor                     template.URL
	Lock, Class, Symbol, Words string
	Unexpected, Open           bool
	Leads                      bool   // it stands for the violations of its scenario
	Packed                     bool   // the page has the run without what is inside
	Violated                   string // names of properties, for the filter
	Holds                      string // the properties that hold, if others do not
	Beside                     *besideView
	DrawnAt                    template.URL // the place of its picture, if it is elsewhere
	DrawnBeside                string
	Failure, Tail              string // the reason, and the lines that explain it
	Verdicts                   []verdictView
	Arguments                  []argumentView
	Others                     []otherView
	Facts                      string
	Replay, Hash, History      string

	Absent   string // why the picture is missing
	Story    []sentenceView
	Timeline template.HTML
	Caption  string
	Proofs   []proofView
}

// proofView is the picture of a proof of violations, with their reasons.
type proofView struct {
	Picture template.HTML
	About   []reasonView
}

type reasonView struct{ Property, Outcome, Reason string }

type verdictView struct {
	Property, Outcome, Symbol, Class, Expected, Reason, Facts string
	Unexpected                                                bool
}

// argumentView is the argument for the expected verdicts on some properties.
type argumentView struct{ Properties, Because string }

// besideView is a lock that survives where another one fails, on the same axis of time.
type besideView struct {
	Lock, Does string // "survives"
	Anchor     template.URL
	Timeline   template.HTML
	Caption    string
	Argument   string
}

type otherView struct{ Seed, Symbol, Class, Words, Replay string }

type sentenceView struct{ Class, Time, Text string }

// One writes the first run of a document: its verdict in a line, its picture, its
// story, its verdicts and what proves them. The picture of a second run, of a lock
// that survives, follows that of the first on the same axis of time. One writes a
// part of a page that has [Style] and [Patterns]. Without argued it compares the
// verdicts with no expected ones.
func (d Document) One(w io.Writer, argued bool) error {
	p := newPager(w, d)
	play := func(i int, axis *timeAxis) runView {
		r := &d.Results.Runs[i]
		return p.run(p.m.cell(r.Scenario, r.Column()), axis, i == 0)
	}
	var axis timeAxis
	v := play(0, &axis)
	if len(d.Results.Runs) > 1 {
		v.Beside = p.besides(play(1, &axis), &d.Results.Runs[1])
		if v.Beside != nil {
			v.Beside.Anchor = "" // the run has no section of its own
		}
	}
	if !argued {
		v.Words = strings.TrimSuffix(v.Words, asArgued)
	}
	if err := p.part("one", v); err != nil {
		return fmt.Errorf("write run: %w", err)
	}
	return nil
}

func (p *pager) scenario(s string, begins bool) error {
	a := p.d.about(s)
	v := scenarioView{Anchor: p.anchors[[2]string{s, ""}], Name: english.Name(s), Title: english.Clean(a.Title), File: english.Clean(a.File)}
	if begins {
		v.Hazard = english.Clean(p.hazard(s))
	}
	for _, par := range strings.Split(cleanLines(a.Story), "\n\n") {
		if par = strings.Join(strings.Fields(par), " "); par != "" {
			v.Story = append(v.Story, par)
		}
	}
	for _, u := range p.m.inapplicableTo(s) {
		v.Skips = append(v.Skips, skipView{english.And(u.Locks), u.Reason})
	}
	for _, u := range p.m.unplayedIn(s) {
		v.Unplayed = append(v.Unplayed, skipView{u.With(), u.Reason})
	}
	runs, leads := p.runs(s)
	v.Quiet = leads < 0
	if err := p.part("scenario", v); err != nil {
		return err
	}
	for _, r := range runs {
		if err := p.writeRun(r); err != nil {
			return err
		}
	}
	return p.part("scenario-end", v)
}

// runs are the locks of a scenario, in the order of the columns. leads is the
// index of the run that stands for the violations, which has a surviving lock
// beside it; -1 without violations.
func (p *pager) runs(s string) (views []runView, leads int) {
	var played []*cell
	for _, l := range p.m.locks {
		if c := p.m.cell(s, l); c != nil && len(c.runs) > 0 {
			played = append(played, c)
		}
	}
	views = make([]runView, len(played))
	leads, beside := p.pair(played)
	var axis timeAxis
	if leads >= 0 {
		views[leads] = p.run(played[leads], &axis, true)
		views[leads].Leads, views[leads].Open = true, true
	}
	for i, c := range played {
		switch i {
		case leads:
		case beside:
			same := axis
			r := p.run(c, &same, false)
			if views[leads].Beside = p.besides(r, c.worst()); views[leads].Beside != nil {
				r.Timeline, r.DrawnAt, r.DrawnBeside = "", views[leads].Anchor, views[leads].Lock
			}
			views[i] = r
		default:
			views[i] = p.run(c, &timeAxis{}, false)
		}
	}
	return views, leads
}

// besides shows an example, for the run that leads; nil without a picture.
func (p *pager) besides(v runView, r *results.Run) *besideView {
	if v.Timeline == "" {
		return nil
	}
	does, why := whyBeside(r, p.d.about(r.Scenario).Otherwise)
	return &besideView{Lock: v.Lock, Does: does, Anchor: v.Anchor, Timeline: v.Timeline, Caption: v.Caption, Argument: strings.Join(strings.Fields(english.Clean(why)), " ")}
}

// pair chooses the lock that shows the violations of a scenario best, and an
// example to stand beside it. The reference comes first on either side. Otherwise
// the worst lock leads.
func (p *pager) pair(played []*cell) (leads, beside int) {
	leads, beside = -1, -1
	runs := make([]*results.Run, len(played))
	for i, c := range played {
		r := c.worst()
		runs[i] = r
		switch k := markOf(r); {
		case k == markOK && r.Passed(), k == markUnknown && r.Passed():
		case leads < 0 || r.Lock == p.d.Reference && played[leads].worst().Passed() || k > played[leads].mark() && played[leads].lock != p.d.Reference || !r.Passed() && played[leads].worst().Passed():
			leads = i
		}
	}
	if leads >= 0 {
		beside = slices.Index(runs, chooseBeside(runs[leads], runs, p.d.Reference))
	}
	return leads, beside
}

// run shows one lock in a scenario. axis is the time axis of its picture; an
// empty one is set. The run that leads gets pictures of the proofs.
func (p *pager) run(c *cell, axis *timeAxis, leads bool) runView {
	r := c.worst()
	k := markOf(r)
	v := runView{
		Anchor: p.anchors[[2]string{c.scenario, c.lock}], Lock: english.Name(c.lock), Class: looks[k].word, Symbol: looks[k].symbol, Words: inWords(r),
		Unexpected: !r.Passed(), Open: !r.Passed() || len(p.d.Results.Runs) <= 3,
		Facts: origin(r), Replay: Replay(r), Hash: english.Clean(r.HistorySHA256), History: english.Clean(r.History),
	}
	if share := c.share(); share != "" {
		v.Words += "; so with " + share + " seeds"
	}
	reason, tail := failureOf(r)
	v.Failure, v.Tail = reason, strings.Join(tail, "\n")
	var holds, violated []string
	for _, prop := range propertiesOf(r) {
		if verdict := r.Verdicts[prop]; verdict.Outcome == checker.OutcomeOK && r.Matches(prop) && verdict.Reason == "" {
			holds = append(holds, english.Clean(string(prop)))
			continue
		}
		v.Verdicts = append(v.Verdicts, viewVerdict(r, prop))
		if r.Verdicts[prop].Outcome == checker.Violated {
			violated = append(violated, english.Clean(string(prop)))
		}
	}
	v.Arguments = arguments(r)
	v.Violated = strings.Join(violated, " ")
	if len(v.Verdicts) > 0 || v.Open { // or its heading says that every property holds
		v.Holds = english.And(holds)
	}
	for _, o := range c.runs {
		if o != r {
			ok := markOf(o)
			v.Others = append(v.Others, otherView{number(o.Seed), looks[ok].symbol, looks[ok].word, inWords(o), Replay(o)})
		}
	}
	for _, o := range c.runs {
		drawn, read := o == r && (p.draws(r) || axis.to != 0), p.d.Histories
		if !drawn && p.d.WithoutServerLog != nil {
			read = p.d.WithoutServerLog
		}
		h, absent := historyOf(*o, read)
		if h == nil {
			if o == r {
				v.Absent = absent
			}
			continue
		}
		f := story.NewFacts(h)
		p.count(c.lock, f)
		p.numbers[c.lock].cost(f, o.Stats.Commands, p.hazard(c.scenario) == "no fault", p.d.about(c.scenario).RoundTrip)
		if drawn {
			v.Timeline, v.Caption = drawTimeline(f, r, axis)
			if isInteresting(r) || len(p.d.Results.Runs) < drawAllBelow {
				v.Story = storyView(story.Tell(f, r))
				if leads || !r.Passed() || len(p.d.Results.Runs) < drawAllBelow {
					v.Proofs = proofViews(f, r)
				}
			}
		}
	}
	return v
}

// draws reports whether a run gets its story and timeline: it is interesting, its
// lock is the reference, or the report has few runs.
func (p *pager) draws(r *results.Run) bool {
	return isInteresting(r) || r.Lock == p.d.Reference || len(p.d.Results.Runs) < drawAllBelow
}

func (p *pager) count(lock string, f *story.Facts) {
	n := p.numbers[lock]
	if n == nil {
		n = &numbers{lock: lock}
		p.numbers[lock] = n
	}
	n.add(f)
}

// arguments are the reasons of a run's expectations, each with all its properties.
func arguments(r *results.Run) []argumentView {
	var reasons []string
	about := map[string][]string{}
	for _, p := range propertiesOf(r) {
		reason := because(r, p)
		if reason == "" || r.Verdicts[p].Outcome == checker.OutcomeOK && r.Matches(p) {
			continue
		}
		if about[reason] == nil {
			reasons = append(reasons, reason)
		}
		about[reason] = append(about[reason], english.Clean(string(p)))
	}
	var out []argumentView
	for _, reason := range reasons {
		out = append(out, argumentView{english.And(about[reason]), reason})
	}
	return out
}

func viewVerdict(r *results.Run, p checker.Property) verdictView {
	v := r.Verdicts[p]
	out := verdictView{
		Property: english.Clean(string(p)), Outcome: verdictWords(v.Outcome, v.Class), Expected: expectedWords(r, p),
		Reason: english.Clean(v.Reason), Unexpected: !r.Matches(p),
	}
	if v.Outcome != checker.OutcomeOK || out.Unexpected {
		out.Facts = verdictFacts(v)
	}
	k := markUnknown
	if v.Outcome != checker.Unknown {
		k = harmMark(checker.HarmOf(map[checker.Property]checker.Verdict{p: v}))
	}
	out.Symbol, out.Class = looks[k].symbol, looks[k].word
	return out
}

func proofViews(f *story.Facts, r *results.Run) []proofView {
	var out []proofView
	for _, c := range proofsOf(r) {
		v := proofView{Picture: drawProof(f, r, c)}
		if v.Picture == "" {
			continue
		}
		for _, p := range c.about {
			verdict := r.Verdicts[p]
			v.About = append(v.About, reasonView{english.Clean(string(p)), verdictWords(verdict.Outcome, verdict.Class), english.Clean(verdict.Reason)})
		}
		out = append(out, v)
	}
	return out
}

func storyView(all []story.Sentence) []sentenceView {
	out := make([]sentenceView, len(all))
	for i, s := range all {
		v := sentenceView{Text: s.Text}
		if !s.Gap {
			v.Time = history.At(s.At)
		}
		switch {
		case s.Bad:
			v.Class = "bad"
		case s.Fault:
			v.Class = "struck"
		case s.Said != "":
			v.Class = "said"
		case s.Gap:
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
	var names []string
	var ms [][]float64
	for _, l := range p.m.locks {
		n := p.numbers[l]
		if n == nil {
			continue
		}
		v.Rows = append(v.Rows, n.row())
		names = append(names, english.Short(english.Name(n.lock), 24))
		ms = append(ms, n.handoffs)
	}
	if len(v.Rows) == 0 {
		v.Absent = "There are no numbers, because no history is part of this report."
		return v
	}
	svg, err := chart.Boxes("from release to the next waiter's grant", names, ms)
	if err != nil {
		v.Absent = "The hand-off times could not be drawn: " + english.Clean(err.Error())
		return v
	}
	if v.Plot = template.HTML(svg); svg == nil {
		v.Absent = "There are no hand-offs to draw: no owner waited for a release."
	}
	return v
}
