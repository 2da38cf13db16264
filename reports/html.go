package reports

import (
	"bufio"
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"html/template"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/internal/story"
	"github.com/holdfast-go/holdfast/reports/results"
)

//go:embed page/*.tmpl page/*.css page/*.js
var pageFiles embed.FS

// pages are the parts of the HTML report, in templates.
var pages = template.Must(template.ParseFS(pageFiles, "page/*.tmpl"))

// drawAllBelow is the number of runs below which a report draws all of them.
const drawAllBelow = 25

// HTML writes the report for a design review: one file that needs no other. A small one
// reads as well without its script, which unpacks most of a large one. HTML holds one history
// in memory at a time.
func (d Document) HTML(w io.Writer) error {
	b := bufio.NewWriterSize(w, 64<<10)
	d.Reference = d.reference()
	p := newPager(b, d)
	if err := p.write(); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return b.Flush()
}

// Style is the style sheet of the report, for pages beside it.
func Style() template.CSS { return template.CSS(file("drawing.css") + file("style.css")) }

// Scrubber is the script of the function scrub. It adds a slider for the moment
// to a figure with a picture, and lists the state of every lane at that moment.
func Scrubber() string { return file("scrub.js") }

func file(name string) string {
	text, err := pageFiles.ReadFile("page/" + name)
	if err != nil {
		panic("reports: " + err.Error()) // it is embedded
	}
	return string(text)
}

// Patterns are the hatchings that drawings refer to. A page needs them once.
func Patterns() template.HTML {
	var b strings.Builder
	if err := pages.ExecuteTemplate(&b, "patterns", nil); err != nil {
		panic("reports: " + err.Error()) // it has no data
	}
	return template.HTML(b.String())
}

// Draw draws the space-time diagram of a run for a page with [Style] and
// [Patterns], with a caption.
func Draw(h *history.History, r *results.Run) (svg template.HTML, caption string) {
	return drawOn(h, r, &timeAxis{})
}

// drawOn is [Draw] on an axis of time that other pictures share.
func drawOn(h *history.History, r *results.Run, axis *timeAxis) (svg template.HTML, caption string) {
	return drawTimeline(story.NewFacts(h), r, axis)
}

type pager struct {
	w       io.Writer
	d       Document
	m       *matrix
	tally   *tally
	numbers map[string]*numbers
	anchors map[[2]string]template.URL // of a scenario and a lock; of a scenario where the lock is empty
	packed  bytes.Buffer               // parts of the page, see [pager.writeRun]
}

func newPager(w io.Writer, d Document) *pager {
	p := &pager{w: w, d: d, m: newMatrix(d), numbers: map[string]*numbers{}, anchors: map[[2]string]template.URL{}}
	p.tally = newTally(d.Results.Runs, p.hazard)
	taken := map[string]bool{"findings": true, "picture": true, "lead": true, "cards": true, "matrix": true, "claims": true, "scenarios": true, "numbers": true, "filter": true,
		"p-wait": true, "p-pause": true, "p-overlap": true, "p-fade": true}
	anchor := func(words string) template.URL {
		for i := 1; ; i++ {
			a := words
			if i > 1 {
				a = fmt.Sprintf("%s~%d", words, i)
			}
			if !taken[a] {
				taken[a] = true
				return template.URL(a)
			}
		}
	}
	for _, s := range p.m.scenarios {
		p.anchors[[2]string{s, ""}] = anchor(slug(s))
		for _, l := range p.m.locks {
			p.anchors[[2]string{s, l}] = anchor(slug(s) + "/" + slug(l))
		}
	}
	return p
}

// slug makes a name fit for an anchor. It depends on the name alone, so that
// links to a run survive when other runs come and go.
func slug(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.' || r == '+') {
			return r
		}
		return '-'
	}, english.Short(s, 100))
	return cmp.Or(s, "-")
}

func (p *pager) write() error {
	// The cards need the numbers of all histories, which the following loop reads.
	out, body := p.w, &bytes.Buffer{}
	p.w = body
	last := ""
	for _, s := range p.ordered() {
		if err := p.scenario(s, p.hazard(s) != last && len(p.hazards()) > 1); err != nil {
			return err
		}
		last = p.hazard(s)
	}
	p.w = out
	if err := p.part("head", p.head()); err != nil {
		return err
	}
	if _, err := body.WriteTo(out); err != nil {
		return err
	}
	if err := p.part("numbers", p.numberView()); err != nil {
		return err
	}
	packed, err := packedScript(p.packed.Bytes())
	if err != nil {
		return err
	}
	return p.part("foot", template.JS(Scrubber()+packed+file("script.js")))
}

// ordered are the scenarios that apply to any lock, grouped by hazard.
func (p *pager) ordered() []string {
	var all []string
	for _, h := range p.hazards() {
		for _, s := range p.m.scenarios {
			if p.hazard(s) == h && !p.m.empty(s) {
				all = append(all, s)
			}
		}
	}
	return all
}

func (p *pager) part(part string, data any) error { return pages.ExecuteTemplate(p.w, part, data) }

// headView is the top of the page: the answer.
type headView struct {
	CSS      template.CSS
	Question string
	// Interrupted says that runs are missing. It precedes everything else.
	Interrupted string
	Answer      string
	Tone        string // good, argued or attention
	Picture     *pictureView
	Lead        *leadView
	OneLock     bool // whose diagram comes before the picture
	Cards       []cardView
	Made        string
	Missing     string // histories
	Packed      bool   // parts of the page need its script
	Version     string
	Command     string
	Locks       []string
	Columns     []struct{} // of the matrix
	Groups      []groupView
	LeftOut     []unplayed // scenarios that apply to no lock here
	Legend      []legendView
	Findings    []findingView // not as expected
	Unknown     []findingView // unknown, as expected
	Claims      []claimRow
}

// groupView is the scenarios of one hazard.
type groupView struct {
	Hazard string // empty for a single group
	Rows   []rowView
}

type rowView struct {
	Name, Title string
	Anchor      template.URL
	Cells       []cellView
}

// cellView is a cell of the matrix. The title of a cell that leads to a run is that run's
// heading, which the script copies.
type cellView struct {
	Class, Symbol, Note, Title string
	Anchor                     template.URL
	Unexpected                 bool
}

type legendView struct{ Class, Symbol, Meaning string }

type findingView struct {
	Scenario, Lock, Property, Got, Want, Reason, Also, Because, Seeds, Replay string
	Anchor                                                                    template.URL
}

func (p *pager) head() headView {
	v := headView{
		CSS:      Style(),
		Question: p.question(), Interrupted: p.d.Results.InterruptedWords(), Answer: p.d.answer(), Tone: p.tone(), Picture: p.picture(), Lead: p.lead(), OneLock: len(p.m.locks) == 1, Cards: p.cardViews(), Made: madeWords(p.d.Results.Made),
		Missing: p.d.missingWords(), Packed: p.packed.Len() > 0,
		Version: english.Clean(p.d.Results.Version), Command: english.Clean(p.d.Results.Command),
		Claims: claimTable(p.m),
	}
	v.Locks = english.Words(p.m.locks, english.Name)
	v.Columns = make([]struct{}, len(v.Locks)+1)
	v.LeftOut = p.m.leftOut()
	for _, h := range p.hazards() {
		g := groupView{Hazard: english.Clean(h)}
		for _, s := range p.m.scenarios {
			if p.hazard(s) != h || p.m.empty(s) {
				continue
			}
			row := rowView{Name: english.Name(s), Anchor: p.anchors[[2]string{s, ""}], Title: english.Clean(p.d.about(s).Title)}
			for _, l := range p.m.locks {
				row.Cells = append(row.Cells, p.cell(p.m.cell(s, l)))
			}
			g.Rows = append(g.Rows, row)
		}
		if len(g.Rows) > 0 {
			v.Groups = append(v.Groups, g)
		}
	}
	if len(v.Groups) == 1 && v.Groups[0].Hazard == otherHazards {
		v.Groups[0].Hazard = ""
	}
	for _, k := range legend {
		v.Legend = append(v.Legend, legendView{Class: looks[k].word, Symbol: looks[k].symbol, Meaning: looks[k].meaning})
	}
	for _, f := range p.m.findings() {
		fv := findingView{
			Scenario: english.Name(f.run.Scenario), Lock: english.Name(f.run.Column()), Property: f.property, Got: f.got, Want: f.want,
			Reason: f.reason, Because: f.because, Replay: Replay(f.run),
			Anchor: p.anchors[[2]string{f.run.Scenario, f.run.Column()}], Also: f.alsoWords(),
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

func (p *pager) cell(c *cell) cellView {
	k := c.mark()
	v := cellView{Class: looks[k].word, Symbol: looks[k].symbol, Unexpected: !c.expected()}
	switch k {
	case markNone:
		v.Title = looks[k].meaning
		return v
	case markSkipped:
		v.Title = english.Name(c.lock) + ": " + english.Clean(c.skip.Reason)
		if reason, cannot := cannotRun(c.skip); cannot {
			v.Title = english.Name(c.lock) + ": " + results.NotRun + reason
		}
		return v
	}
	r := c.worst()
	v.Anchor = p.anchors[[2]string{c.scenario, c.lock}]
	if e := r.Verdicts[checker.Exclusion]; e.OverlapMS > 0 {
		v.Note = overlapNote(e.OverlapMS)
	}
	if share := c.share(); share != "" {
		v.Note = share
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

const asArgued = "; as expected"

// inWords sums up a run in a line: the violated and unknown properties, and
// whether its scenario expects them. It is brief where all hold and should.
func inWords(r *results.Run) string {
	if r.Failure != "" {
		reason, _ := failureOf(r)
		return "could not be judged: " + english.Short(reason, 200)
	}
	var bad []string
	for _, p := range propertiesOf(r) {
		if v := r.Verdicts[p]; v.Outcome != checker.OutcomeOK {
			bad = append(bad, english.Clean(string(p))+" "+verdictWords(v.Outcome, v.Class))
		}
	}
	words := cmp.Or(strings.Join(bad, ", "), "every property holds")
	switch {
	case !r.Passed():
		return words + "; not as expected"
	case len(bad) > 0:
		return words + asArgued
	}
	return words
}
