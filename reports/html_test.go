package reports

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"html/template"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/internal/story"
	"github.com/holdfast-go/holdfast/reports/results"
)

func page(t *testing.T, d Document) string {
	t.Helper()
	var b bytes.Buffer
	must.Succeed(t, d.HTML(&b))
	return b.String()
}

// whole is a page as its script shows it, without packed parts.
func whole(t *testing.T, page string) string {
	t.Helper()
	packed := regexp.MustCompile(`const packed = "([^"]*)";`).FindStringSubmatch(page)
	if packed == nil {
		t.Fatal("the page packs nothing")
	}
	z, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(packed[1])))
	must.Succeed(t, err)
	text, err := io.ReadAll(z)
	must.Succeed(t, err)
	parts := strings.Split(string(text), endOfPart)
	slot := regexp.MustCompile(`<p class="packed".*?</p>`)
	if n := len(slot.FindAllString(page, -1)); n != len(parts)-1 {
		t.Errorf("%d parts for %d places", len(parts)-1, n)
	}
	return slot.ReplaceAllStringFunc(strings.Replace(page, packed[0], "", 1), func(string) string {
		part := parts[0]
		parts = parts[1:]
		return part
	})
}

// A large page packs what it folds. It keeps the verdicts and a picture of each scenario
// that breaks a lock, and its script shows the rest.
func TestLargePagesArePacked(t *testing.T) {
	d := catalogue()
	out := page(t, d)
	if page(t, d) != out {
		t.Error("equal runs give different pages")
	}
	unpacked := whole(t, out)
	if n := strings.Count(unpacked, `<details class="run`); n != len(d.Results.Runs) {
		t.Errorf("%d of %d runs", n, len(d.Results.Runs))
	}
	leads := strings.Count(out, `<details class="run leads`)
	if n := strings.Count(out, `<figure>
<div class="wide" tabindex="0" role="group" aria-label="Diagram of`); leads == 0 || n < leads {
		t.Errorf("%d pictures for %d runs that lead", n, leads)
	}
	if !strings.Contains(out, "<noscript>") || strings.Contains(page(t, sample()), "<noscript>") {
		t.Error("a page says what it lacks without its script, if it lacks it")
	}
	// A page of one run packs nothing, and ends in the same way.
	for _, r := range d.Results.Runs[:3] {
		one := d
		one.Results.Runs = []results.Run{r}
		_, told, _ := strings.Cut(page(t, one), `<p class="meta">`+template.HTMLEscapeString(origin(&r)))
		told, _, _ = strings.Cut(told, "</p>")
		if told == "" || !strings.Contains(unpacked, told) {
			t.Errorf("the page lacks the end of %s with %s: %q", r.Scenario, r.Lock, told)
		}
	}
}

// TestLinksLead: every link of the report has exactly one target, also without the script.
func TestLinksLead(t *testing.T) {
	packed := page(t, catalogue())
	for _, out := range []string{packed, whole(t, packed)} {
		linksLead(t, out)
	}
}

func linksLead(t *testing.T, out string) {
	t.Helper()
	targets := map[string]int{}
	for _, m := range regexp.MustCompile(` id="([^"]*)"`).FindAllStringSubmatch(out, -1) {
		targets[m[1]]++
	}
	for id, n := range targets {
		if n > 1 {
			t.Errorf("%d elements have the id %s", n, id)
		}
	}
	links := regexp.MustCompile(`href="#([^"]*)"|url\(#([^)]*)\)`).FindAllStringSubmatch(out, -1)
	if len(links) < 337 {
		t.Errorf("only %d links", len(links))
	}
	for _, m := range links {
		if targets[m[1]+m[2]] == 0 {
			t.Errorf("a link leads nowhere: %s", m[0])
		}
	}
}

// TestHistoriesAreLoadedOnce: the report loads each history once, those of its first screen
// once more, and mentions missing ones.
func TestHistoriesAreLoadedOnce(t *testing.T) {
	d := seeded()
	load, loaded := d.Histories, map[uint64]int{}
	d.Histories = func(r results.Run) (*history.History, error) {
		if r.Scenario == "holder-pause" {
			loaded[r.Seed]++
		}
		switch {
		case r.Scenario == "contention":
			return nil, nil
		case r.Lock == "reentrant":
			return nil, errors.New("disk on fire")
		}
		return load(r)
	}
	out := page(t, d)
	for seed := uint64(1); seed <= 4; seed++ {
		if want := map[bool]int{true: 2, false: 1}[seed == 1]; loaded[seed] != want {
			t.Errorf("the history of seed %d was loaded %d times", seed, loaded[seed])
		}
	}
	for _, want := range []string{"The history of this run is not there.", "could not be read: disk on fire"} {
		if !strings.Contains(out, want) {
			t.Errorf("the report does not say %q", want)
		}
	}
	d.Histories = nil
	if out := page(t, d); !strings.Contains(out, "is not part of this report") || strings.Contains(out, "<figure>") {
		t.Error("a report without histories does not say so")
	}
}

// TestWhatIsDrawn: a large report draws runs without violations for the reference
// lock only.
func TestWhatIsDrawn(t *testing.T) {
	d := catalogue()
	d.Reference = "multi"
	p := newPager(nil, d)
	for i := range d.Results.Runs {
		r := &d.Results.Runs[i]
		if got, want := p.draws(r), markOf(r) != markOK || r.Lock == "multi"; got != want {
			t.Errorf("%s with %s: drawn %v, want %v", r.Scenario, r.Lock, got, want)
		}
	}
}

func TestEmptyReport(t *testing.T) {
	if out := page(t, Document{}); !strings.Contains(out, "Nothing was run.") {
		t.Error("an empty report does not say that nothing was run")
	}
}

func TestHeadline(t *testing.T) {
	broken := func(expected bool) results.Run {
		want := checker.OutcomeOK
		if expected {
			want = checker.Violated
		}
		return results.Run{AsExpected: expected, Verdicts: map[checker.Property]checker.Verdict{checker.Exclusion: {Outcome: checker.Violated}},
			Expected: map[checker.Property]checker.Outcome{checker.Exclusion: want}}
	}
	good := results.Run{AsExpected: true, Verdicts: map[checker.Property]checker.Verdict{checker.Exclusion: {Outcome: checker.OutcomeOK}}}
	failed := results.Run{Failure: "it span"}
	for want, runs := range map[string][]results.Run{
		"Nothing was run.": nil,
		"1 run, with every verdict as expected; exclusion was never seen violated.":                                {good},
		"2 runs, every verdict as expected; exclusion was violated in 1 of them, as the scenarios argue.":          {good, broken(true)},
		"3 runs: 1 not as expected, 1 unknown; exclusion was violated in 1 of them, which no scenario argues for.": {good, broken(false), failed},
		"1 run, with every verdict as expected; exclusion was violated, as the scenario argues.":                   {broken(true)},
	} {
		if got := (Document{Results: results.Results{Runs: runs}}).headline(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// The card of a lock tells its own faults from what any lock with the same promises would do.
func TestCardTellsWhoseFaultItIs(t *testing.T) {
	lost := checker.Verdict{Outcome: checker.Violated, Class: checker.ContractBroken}
	inherent := lost
	inherent.Inherent = "the servers lost the hold"
	for want, verdicts := range map[string][2]checker.Verdict{
		"breaks under 2 hazards of 2; its own fault under 1":                    {lost, inherent},
		"breaks under 2 hazards of 2<":                                          {lost, lost},
		"breaks as any lock with the same promises would, under 2 hazards of 2": {inherent, inherent},
		"breaks as any lock with the same promises would, under 1 hazard of 2":  {inherent, {Outcome: checker.OutcomeOK}},
	} {
		d := Document{Hazards: []string{"pause", "failover"}}
		for i, v := range verdicts {
			d.About = append(d.About, About{Name: d.Hazards[i] + "-1", Hazard: d.Hazards[i]})
			d.Results.Runs = append(d.Results.Runs, results.Run{Scenario: d.Hazards[i] + "-1", Lock: "mine", World: "sim", Seed: 1, Verdicts: map[checker.Property]checker.Verdict{checker.Exclusion: v}})
		}
		if out := page(t, d); !strings.Contains(out, want) {
			t.Errorf("no %q in %s", want, out[strings.Index(out, `id="cards"`):][:600])
		}
	}
}

// A page without all of its runs says so first, instead of asking a question that
// it cannot answer yet.
func TestInterruptedComesFirst(t *testing.T) {
	d := sample()
	d.Results.Interrupted, d.Results.Pending = true, make([]string, 7)
	whole := page(t, d)
	const want = "<h1 class=\"attention\">Interrupted: the command ended before it had played all of its runs; 7 of 10 runs missing.</h1>\n<p class=\"asked\">Which of "
	if !strings.Contains(whole, want) {
		t.Errorf("no %s in\n%s", want, whole[strings.Index(whole, "<header>"):strings.Index(whole, "</header>")])
	}
	if n := strings.Count(whole, "<h1"); n != 1 {
		t.Errorf("%d headings of the page", n)
	}
}

// A link to a run names the scenario and the lock, and does not change when other
// runs come and go.
func TestAnchorsAreNames(t *testing.T) {
	d := sample()
	const want = `id="failover-lost-write/reentrant"`
	if !strings.Contains(page(t, d), want) {
		t.Errorf("no %s among all runs", want)
	}
	d.Results.Runs = d.Results.Runs[1:2]
	if !strings.Contains(page(t, d), want) {
		t.Errorf("no %s in a report of that run", want)
	}
	// Names with similar anchors lead to different places.
	d.Results.Runs = append(d.Results.Runs, d.Results.Runs[0], d.Results.Runs[0])
	d.Results.Runs[1].Scenario, d.Results.Runs[2].Scenario = "matrix", "failover lost write"
	out := page(t, d)
	for _, want := range []string{`id="matrix~2"`, `id="failover-lost-write~2"`, `id="failover-lost-write/reentrant~2"`} {
		if strings.Count(out, want) != 1 {
			t.Errorf("%d of %s", strings.Count(out, want), want)
		}
	}
}

// The picture of a failover shows its cause: the promotion, the roles, the lost
// replication, and the ends of the leases.
func TestTheFailoverShowsItsCause(t *testing.T) {
	h, r := failoverStory()
	svg, _ := drawTimeline(story.NewFacts(h), &r, &timeAxis{})
	for _, want := range []string{`class=promoted`, "promoted, primary", `class="role replica"`, `class=vanished`, "not copied", `class=leased`, "lease ", `class=message`} {
		if !strings.Contains(string(svg), want) {
			t.Errorf("the picture lacks %s", want)
		}
	}
}

// A role line on a server that keeps its role would strike out the holder.
func TestRolesStandWhereTheyChange(t *testing.T) {
	h, r := contentionStory("reentrant", 3, 3, 1)
	if svg, _ := drawTimeline(story.NewFacts(h), &r, &timeAxis{}); strings.Contains(string(svg), `class="role`) || !strings.Contains(string(svg), `class="server`) {
		t.Error("a server that stays a primary has a line through its bar")
	}
}

// pair is the sample with a lock that survives the failover.
func pair() Document {
	d := sample()
	survivor, _ := contentionStory("multi", 3, 3, 1)
	_, run := contentionStory("multi", 3, 3, 1)
	run.Scenario, run.Lock = "failover-lost-write", "multi"
	d.Results.Runs = append(d.Results.Runs, run)
	d.About[1].Otherwise = "multi holds two of three primaries."
	load := d.Histories
	d.Histories = func(r results.Run) (*history.History, error) {
		if r.Lock == "multi" {
			return survivor, nil
		}
		return load(r)
	}
	return d
}

// A run that breaks has a surviving one beside it, on one axis of time, with the
// argument of the scenario.
func TestFailingStandsBesideSurviving(t *testing.T) {
	d := pair()
	out := page(t, d)
	_, beside, ok := strings.Cut(out, `<div class="beside">`)
	if !ok || !strings.Contains(beside, "multi holds two of three primaries.") || !strings.Contains(beside, `>multi</a> survives`) {
		t.Fatal("the surviving lock does not stand beside the failing one")
	}
	axis := regexp.MustCompile(`<svg class="timeline"[^>]*(data-from="\d+" data-to="\d+")`)
	failing := axis.FindAllStringSubmatch(out[:len(out)-len(beside)], -1)
	if got, want := axis.FindStringSubmatch(beside)[1], failing[len(failing)-1][1]; got != want {
		t.Errorf("the axes differ: %s and %s", got, want)
	}
}

// A violation has no green bar above it, and a run without violations has no red
// row.
func TestColoursSayWhatIsMeant(t *testing.T) {
	d := sample()
	d.Results.Runs = d.Results.Runs[1:2] // violated, as expected
	if out := page(t, d); !strings.Contains(out, `class="answer argued"`) {
		t.Error("a violation that was argued for reads as good")
	}
	h, r := failoverStory()
	for p, v := range r.Verdicts {
		v.Outcome = checker.OutcomeOK
		r.Verdicts[p] = v
	}
	for _, s := range story.Tell(story.NewFacts(h), &r) {
		if s.Bad {
			t.Errorf("every property holds, and yet: %s", s.Text)
		}
	}
}

// One mistake that violates several properties is one finding.
func TestOneMistakeIsOneFinding(t *testing.T) {
	_, r := failoverStory()
	r.Expected = map[checker.Property]checker.Outcome{}
	for p, v := range r.Verdicts {
		r.Expected[p] = checker.OutcomeOK
		if p != checker.Progress {
			v.Outcome = checker.Violated
			r.Verdicts[p] = v
		}
	}
	r.AsExpected = false
	all := newMatrix(Document{Results: results.Results{Runs: []results.Run{r}}}).findings()
	if len(all) != 1 || all[0].property != "exclusion" || len(all[0].also) != len(r.Verdicts)-2 {
		t.Errorf("%d findings: %+v", len(all), all)
	}
}

// A scenario that applies to no lock has no row of dashes and no section. One line
// names it with the reason.
func TestAScenarioForNoLockIsLeftOut(t *testing.T) {
	d := catalogue()
	d.Results.Runs = d.Results.Runs[:1]
	lock := d.Results.Runs[0].Lock
	const reason = "it does not claim quorum"
	d.Results.Skipped = []results.Skip{{Scenario: "a-quorum", Lock: lock, Reason: reason}, {Scenario: "two-quorums", Lock: lock, Reason: reason}}
	out := page(t, d)
	if want := "<li>a-quorum, two-quorums: " + reason + "</li>"; strings.Count(out, want) != 1 || strings.Contains(out, `href="#a-quorum"`) || strings.Contains(out, `id="a-quorum"`) {
		t.Errorf("the page does not say %q, or has a row for it", want)
	}
}
