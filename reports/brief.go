package reports

import (
	"errors"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/internal/story"
	"github.com/holdfast-go/holdfast/reports/results"
)

// briefWidth is the width of pictures on paper, in pixels. Their labels are
// then 7 points high.
const briefWidth = 800

// briefLines is the most sentences of the story.
const briefLines = 6

// briefView is one run as one page for a design review. It has the claim, the picture,
// the story, the reason, the remedy, and the command that repeats the run.
type briefView struct {
	Style              template.CSS
	Patterns           template.HTML
	Title, Chosen      string
	Claim, Verdict     string
	Tone               string // good, argued or attention
	Also               string // the other violated properties
	Pictures           []briefPicture
	Absent             string
	Story              []story.Sentence
	Why, Argument      []string
	Remedy             []string
	Command, Hash      string
	Origin, Version    string
	Scenario, Question string
}

type briefPicture struct {
	Title   string
	Good    bool
	Drawing template.HTML
}

// Brief writes one page about a run for a design review: one sheet of A4 that needs no
// other file and no network. With a cell, SCENARIO/LOCK, it is about the worst run of that
// cell; the error is a [CellError] without such a run. Without a cell it is about the most
// telling violation of all runs.
func (d Document) Brief(w io.Writer, cell string) error {
	r, why, err := choose(d, cell)
	if err != nil {
		return err
	}
	v := briefView{Style: Style(), Patterns: Patterns(), Version: made(d.Results)}
	if r == nil {
		v.nothing(d.Results)
	} else {
		v.Chosen = why
		v.about(d, r)
	}
	if err := pages.ExecuteTemplate(w, "brief", v); err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	return nil
}

// SVG writes the diagram of the run that [Brief] is about, as a file of its own in light
// colours.
func (d Document) SVG(w io.Writer, cell string) error {
	r, _, err := choose(d, cell)
	switch {
	case err != nil:
		return err
	case r == nil:
		return errors.New("there is nothing to draw: no run violates anything")
	}
	h, absent := d.history(*r)
	if h == nil {
		return fmt.Errorf("there is nothing to draw: %s", absent)
	}
	return writeSVG(w, h, r)
}

// nothing is the page of results without a violation.
func (v *briefView) nothing(res results.Results) {
	v.Title, v.Tone = "No run violates anything", "good"
	v.Claim = fmt.Sprintf("%s of %s with %s.", english.Count(len(res.Runs), "run"),
		countNames(res.Runs, "scenario", func(r *results.Run) string { return r.Scenario }), countNames(res.Runs, "lock", func(r *results.Run) string { return r.Lock }))
	v.Verdict = "Every verdict that was reached is ok"
	unknown := 0
	for i := range res.Runs {
		if undecided(&res.Runs[i]) {
			unknown++
		}
	}
	switch {
	case len(res.Runs) == 0:
		v.Title, v.Tone, v.Claim, v.Verdict = "Nothing was run", "attention", "", ""
	case unknown > 0:
		v.Tone = "attention"
		v.Verdict += fmt.Sprintf(" %s could not be decided, and such a run proves nothing.", english.Upper(english.Count(unknown, "run")))
	}
	if words := res.InterruptedWords(); words != "" {
		v.Tone, v.Verdict = "attention", words+" "+v.Verdict
	}
	v.Why = []string{"A run shows what happened with one seed. More seeds (--seeds) and random faults (holdfast explore) look further."}
	v.Command = english.Clean(res.Command)
}

func countNames(runs []results.Run, what string, name func(*results.Run) string) string {
	seen := map[string]bool{}
	for i := range runs {
		seen[name(&runs[i])] = true
	}
	return english.Count(len(seen), what)
}

// about is the page of one run.
func (v *briefView) about(d Document, r *results.Run) {
	about := d.about(r.Scenario)
	lock, scenario := cutWords(r.Column(), 40), cutWords(r.Scenario, 60)
	v.Scenario, v.Question = scenario, cutWords(about.Title, 120)
	v.Command, v.Hash, v.Origin = cutWords(Replay(r), 300), english.Clean(r.HistorySHA256), cutWords(origin(r), 200)
	v.judged(r, lock, scenario)

	beside := survivor(d, r)
	h, absent := d.history(*r)
	if h == nil {
		v.Absent = "No picture and no story. " + cutWords(absent, 200)
	} else {
		v.Pictures = d.drawPair(h, r, beside)
		v.Story = story.Gist(h, r, briefLines)
		for i := range v.Story {
			v.Story[i].Text = cutWords(v.Story[i].Text, 220)
		}
	}
	if about.Otherwise != "" && (beside != nil || !breaks(r)) {
		who, run := lock, r
		if beside != nil {
			who, run = cutWords(beside.Column(), 40), beside
		}
		does, why := whyBeside(run, argumentAbout(about.Otherwise, who))
		if why != "" {
			v.Argument = []string{"Why " + who + " " + does + ": " + cutWords(why, 500)}
		}
	}
	if breaks(r) {
		v.Remedy = []string{checker.HarmOf(r.Verdicts).Remedy(), instead(d, r, scenario)}
	}
}

// drawPair draws a run, and under it the one beside it, on one axis of time.
func (d Document) drawPair(h *history.History, r, beside *results.Run) (pair []briefPicture) {
	axis := timeAxis{Width: briefWidth}
	add := func(h *history.History, r *results.Run, does string, good bool) {
		if drawing, _ := drawOn(h, r, &axis); drawing != "" {
			pair = append(pair, briefPicture{cutWords(r.Column(), 40) + " " + does, good, drawing})
		}
	}
	if breaks(r) {
		add(h, r, "breaks", false)
	} else {
		add(h, r, "holds", true)
	}
	if beside == nil {
		return pair
	}
	if h, _ := d.history(*beside); h != nil {
		does, _ := whyBeside(beside, "")
		add(h, beside, does+", on the same axis of time", true)
	}
	return pair
}

// instead names the locks that survive the scenario of a run.
func instead(d Document, r *results.Run, scenario string) string {
	var names, forever []string
	for _, s := range survivors(d, r) {
		if holdsForever(s) {
			forever = append(forever, cutWords(s.Column(), 40))
		} else {
			names = append(names, cutWords(s.Column(), 40))
		}
	}
	switch n := len(names); {
	case n == 0 && len(forever) > 0:
		return fmt.Sprintf("In this scenario only a lock without a lease holds (%s). That is no remedy: nothing ends the hold of a dead owner.", english.And(forever))
	case n == 0:
		return fmt.Sprintf("No lock of this run survives the scenario. To see whether another does: holdfast run %s --lock all", scenario)
	case n == 1:
		return fmt.Sprintf("In this scenario %s holds.", names[0])
	case n > 6:
		names = append(names[:5:5], fmt.Sprintf("%d more", n-5))
	}
	return fmt.Sprintf("In this scenario %s hold.", english.And(names))
}

// argumentAbout picks the sentences of a scenario's argument that name the lock. If
// none does, it returns the whole argument.
func argumentAbout(text, lock string) string {
	var about []string
	for _, s := range strings.SplitAfter(strings.Join(strings.Fields(text), " "), ". ") {
		if slices.Contains(strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(" ,.:;()'", r) }), lock) {
			about = append(about, s)
		}
	}
	if len(about) == 0 {
		return text
	}
	return strings.Join(about, "")
}

// judged fills in the verdicts: the first violated claim, unexpected verdicts
// before the others.
func (v *briefView) judged(r *results.Run, lock, scenario string) {
	var violated, unknown []checker.Property
	promise := map[checker.Property]string{}
	for _, info := range checker.Properties() {
		promise[info.Name] = info.Promise
		switch r.Verdicts[info.Name].Outcome {
		case checker.Violated:
			violated = append(violated, info.Name)
		case checker.Unknown:
			unknown = append(unknown, info.Name)
		}
	}
	slices.SortStableFunc(violated, func(a, b checker.Property) int { return before(!r.Matches(a), !r.Matches(b)) })
	v.Tone = "argued"
	switch {
	case r.Failure != "":
		v.Title, v.Tone = fmt.Sprintf("%s in %s could not be judged", lock, scenario), "attention"
		v.Why = []string{cutWords(r.FailureReason(), 400)}
	case len(violated) > 0:
		p := violated[0]
		v.Title = fmt.Sprintf("%s violates %s in %s", lock, p, scenario)
		v.Claim = fmt.Sprintf("%s: %s", p, cutWords(promise[p], 200))
		v.violated(r, p)
		if len(violated) > 1 {
			v.Also = "Also violated: " + propertyWords(violated[1:]) + "."
		}
	case len(unknown) > 0 || len(r.Verdicts) == 0:
		v.Title, v.Tone = fmt.Sprintf("Not everything is decided of %s in %s", lock, scenario), "attention"
		v.Claim = "Not decided: " + propertyWords(unknown) + "."
		for _, p := range unknown {
			if reason := r.Verdicts[p].Reason; reason != "" {
				v.Why = append(v.Why, cutWords(reason, 360))
				break
			}
		}
	default:
		v.Title, v.Tone = fmt.Sprintf("%s keeps its claims in %s", lock, scenario), "good"
		v.Verdict = fmt.Sprintf("%s hold", english.Count(len(r.Verdicts), "claim"))
		if len(r.Verdicts) == 1 {
			v.Verdict += "s"
		}
		if !r.Passed() {
			v.Tone, v.Verdict = "attention", v.Verdict+", and the scenario argues for something else"
		}
		if x, ok := r.Verdicts[checker.Exclusion]; ok && x.Outcome == checker.OutcomeOK {
			v.Claim = fmt.Sprintf("%s: %s", checker.Exclusion, promise[checker.Exclusion])
		}
	}
	v.Verdict = strings.TrimSuffix(v.Verdict, ".")
}

// violated fills in the verdict on a violated claim, and the reasons.
func (v *briefView) violated(r *results.Run, p checker.Property) {
	x := r.Verdicts[p]
	v.Verdict = "violated"
	if x.Class != "" {
		v.Verdict += " (" + cutWords(x.Class, 40) + ")"
	}
	if r.Matches(p) {
		v.Verdict += ", as the scenario argues"
	} else {
		v.Tone = "attention"
		v.Verdict += ", which nobody expects"
	}
	v.Why = append(v.Why, cutWords(x.Reason, 360))
	if b := r.Because[p]; b != "" {
		v.Why = append(v.Why, "Expected because: "+cutWords(b, 400))
	}
}

func propertyWords(all []checker.Property) string {
	return english.And(english.Words(all, func(p checker.Property) string { return string(p) }))
}

// made is the provenance of results, in one line.
func made(res results.Results) string {
	words := "holdfast " + res.Version
	if when := madeWords(res.Made); when != "" {
		words += " · " + when
	}
	return cutWords(words, 200)
}

// cutWords makes text from outside safe to print, in one line of at most n characters.
func cutWords(s string, n int) string {
	s = strings.Join(strings.Fields(english.Clean(s)), " ")
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return strings.TrimRight(string([]rune(s)[:n-1]), " ,;:") + "…"
}
