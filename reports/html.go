package reports

import (
	"bufio"
	"embed"
	"fmt"
	"html/template"
	"io"
	"strconv"
	"strings"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/results"
)

//go:embed page/*.tmpl page/style.css
var pageFiles embed.FS

// pages are the parts of the HTML report, written one after the other.
var pages = template.Must(template.ParseFS(pageFiles, "page/*.tmpl"))

// drawAllBelow is how many runs a report may have for all of them to be drawn.
const drawAllBelow = 25

// HTML writes the report of a design review: one file that needs nothing else
// and runs no script. It holds one history at a time.
func HTML(w io.Writer, d Document) error {
	b := bufio.NewWriterSize(w, 64<<10)
	if d.Reference == "" {
		d.Reference = "reentrant"
	}
	p := &pager{w: b, d: d, m: newMatrix(d), numbers: map[string]*numbers{}}
	if err := p.write(); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return b.Flush()
}

type pager struct {
	w       *bufio.Writer
	d       Document
	m       *matrix
	numbers map[string]*numbers
}

func (p *pager) write() error {
	css, err := pageFiles.ReadFile("page/style.css")
	if err != nil {
		return err
	}
	if err := p.part("head", p.head(string(css))); err != nil {
		return err
	}
	for i, s := range p.m.scenarios {
		if err := p.scenario(i, s); err != nil {
			return err
		}
	}
	if err := p.part("numbers", p.numberView()); err != nil {
		return err
	}
	return p.part("foot", nil)
}

func (p *pager) part(part string, data any) error { return pages.ExecuteTemplate(p.w, part, data) }

// headView is the top of the page: the answer.
type headView struct {
	CSS      template.CSS
	Headline string
	Good     bool
	Missing  string // histories
	Version  string
	Command  string
	Locks    []string
	Rows     []rowView
	Legend   []legendView
	Findings []findingView // not as expected
	Unknown  []findingView // unknown, as expected
	Claims   []claimRow
}

type rowView struct {
	Name, Title, Anchor string
	Cells               []cellView
}

type cellView struct {
	Class, Symbol, Note, Title, Anchor string
	Unexpected                         bool
}

type legendView struct{ Class, Symbol, Meaning string }

type findingView struct {
	Scenario, Lock, Property, Got, Want, Reason, Because, Seeds, Replay, Anchor string
}

func (p *pager) head(css string) headView {
	s := results.Summarize(p.d.Results.Runs)
	v := headView{
		CSS:      template.CSS(css),
		Headline: p.d.headline(), Good: s.Runs > 0 && s.AsExpected == s.Runs && !p.d.Results.Interrupted,
		Missing: p.d.missingWords(),
		Version: clean(p.d.Results.Version), Command: clean(p.d.Results.Command),
		Claims: claimTable(p.m),
	}
	for _, l := range p.m.locks {
		v.Locks = append(v.Locks, name(l))
	}
	for i, s := range p.m.scenarios {
		row := rowView{Name: name(s), Anchor: scenarioAnchor(i)}
		row.Title = clean(p.about(s).Title)
		for j, l := range p.m.locks {
			row.Cells = append(row.Cells, p.cell(i, j, p.m.cell(s, l)))
		}
		v.Rows = append(v.Rows, row)
	}
	for _, k := range legend {
		v.Legend = append(v.Legend, legendView{Class: looks[k].word, Symbol: looks[k].symbol, Meaning: looks[k].meaning})
	}
	for _, f := range p.m.findings() {
		fv := findingView{
			Scenario: name(f.run.Scenario), Lock: name(f.run.Column()), Property: f.property, Got: f.got, Want: f.want,
			Reason: f.reason, Because: f.because, Replay: replayCommand(f.run),
			Anchor: p.anchorOf(f.run),
		}
		if f.of > 1 {
			fv.Seeds = fmt.Sprintf("with %d of %d seeds: %s", len(f.seeds), f.of, seedList(f.seeds, 8))
		}
		if f.expected {
			v.Unknown = append(v.Unknown, fv)
		} else {
			v.Findings = append(v.Findings, fv)
		}
	}
	return v
}

func (p *pager) cell(i, j int, c *cell) cellView {
	k := c.mark()
	v := cellView{Class: looks[k].word, Symbol: looks[k].symbol, Title: looks[k].meaning, Unexpected: !c.expected()}
	switch k {
	case markNone:
		return v
	case markSkipped:
		v.Title = name(c.scenario) + ", " + name(c.lock) + ": does not apply: " + clean(c.skip.Reason)
		if reason, cannot := cannotRun(c.skip); cannot {
			v.Title = name(c.scenario) + ", " + name(c.lock) + ": " + notRun + reason
		}
		return v
	}
	r := c.worst()
	v.Anchor = runAnchor(i, j)
	v.Title = name(c.scenario) + ", " + name(c.lock) + ": " + inWords(r)
	if e := r.Verdicts[checker.Exclusion]; e.OverlapMS > 0 {
		v.Note = overlapNote(e.OverlapMS)
	}
	return v
}

// overlapNote is a length for a cell: "812 ms", "4.2 s".
func overlapNote(ms float64) string {
	if ms >= 1000 {
		return strconv.FormatFloat(ms/1000, 'f', 1, 64) + " s"
	}
	return length(int64(ms * 1e6))
}

// inWords is a run in a line: what is violated or unknown, and whether that
// was to be expected.
func inWords(r *results.Run) string {
	if r.Failure != "" {
		reason, _ := failureOf(r)
		return "could not be judged: " + short(reason, 200)
	}
	var bad []string
	for _, p := range propertiesOf(r) {
		if v := r.Verdicts[p]; v.Outcome != checker.OutcomeOK {
			bad = append(bad, clean(string(p))+" "+verdictWords(v.Outcome, v.Class))
		}
	}
	if len(bad) == 0 {
		bad = []string{"every property holds"}
	}
	if r.Passed() {
		return strings.Join(bad, ", ") + "; as expected"
	}
	return strings.Join(bad, ", ") + "; not as expected"
}

func (p *pager) about(scenario string) About {
	for _, a := range p.d.About {
		if a.Name == scenario {
			return a
		}
	}
	return About{Name: scenario}
}

func scenarioAnchor(i int) string { return "s" + strconv.Itoa(i+1) }
func runAnchor(i, j int) string   { return fmt.Sprintf("s%d-%d", i+1, j+1) }

// anchorOf is where a run is told. Anchors are numbers: names may be anything.
func (p *pager) anchorOf(r *results.Run) string {
	for i, s := range p.m.scenarios {
		for j, l := range p.m.locks {
			if s == r.Scenario && l == r.Column() {
				return runAnchor(i, j)
			}
		}
	}
	return ""
}
