package pages

import (
	"bytes"
	"flag"
	"html/template"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-go/holdfast/internal/browser"
	"github.com/holdfast-go/holdfast/internal/disk"
	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/internal/story"
)

var update = flag.Bool("update", false, "write the golden files anew")

// sample fills every part of a page.
func sample() page {
	return page{
		Kind: "exploration", Asked: "Does set-px break a promise under faults that are drawn at random?", Answer: "200 runs: 73 violated a promise.", Tone: attention,
		Interrupted: "Interrupted: not all runs were played.", Command: "holdfast explore --lock set-px", Version: "0.1.0",
		Numbers: []number{{Value: "1,043,422", Label: "runs played"}, {Value: "73", Label: "broke a promise", Tone: toneOf(73, attention)}, {Value: "0", Label: "proved nothing", Tone: toneOf(0, argued)}},
		Chart:   `<svg viewBox="0 0 400 100"><text x="10" y="20">the probability of two holders</text></svg>`,
		Texts:   []text{{Title: "What was played, as a file", Body: "scenario: swept\n", Folded: true}},
		Bound:   []string{"A hazard that none of them shows comes, with 95 % confidence, in fewer than 1 in 66 runs like these."},
		Causes: setLargest([]group{
			{Title: "pause", Rows: []causeRow{{Count: 24, What: "exclusion (lease outlived)", Where: "first with seed 15", Find: "one"}, {Count: 1, What: "linearizable", Where: "first with seed 88", Remark: "known before"}}},
			{Title: "clock-drift, node-restart-without-data", Rows: []causeRow{{Count: 6, What: "exclusion (contract broken)", Where: "first with seed 3", Find: "two"}}},
		}),
		Finds: []find{
			{Key: "one", Tone: attention, Title: "Exclusion (lease outlived) after pause", Why: "Two clients held the lock for 2.02 ms.",
				Sizes:    []sizeRow{{"clients", 4, 2}, {"faults", 1, 1}},
				Pictures: []picture{{Title: "The smallest run that shows it", Caption: "Shown: 2 s.", Drawing: `<svg class="timeline" viewBox="0 0 1120 40"><text x="10" y="20">client-1</text></svg>`}, {Title: "The first run", Folded: true, Drawing: `<svg class="timeline" viewBox="0 0 1120 40"></svg>`}},
				Story:    []story.Sentence{{At: 1.103e9, Text: "client-1 is paused.", Fault: true}, {At: 1.108e9, Text: "client-2 gets the lock.", Bad: true}},
				Texts:    []text{{Title: "The scenario, as a file", Body: "name: found\n", Folded: true}}, Command: "holdfast run ./finds/one.yaml --lock set-px --seed 1"},
			{Key: "two", Tone: argued, Title: "lock/release.go:31:drop", Texts: []text{{Body: "- return nil\n+ return err\n"}}},
		},
		Maps: []heatMap{{Title: "Where the faults struck", Note: "How often.", Corner: "fault", Columns: []string{"acquire sent", "holding", "renewing"},
			Rows:   []mapRow{{Name: "node-restart-without-data", Cells: []cell{{Text: "12", Class: shade(12, 40)}, {Text: "never", Class: "hole", Title: "a hole"}, {Text: "–", Class: "none"}}}, {Name: "pause", Cells: []cell{{Text: "2 of 8", Class: "bad"}, {Text: "40", Class: shade(40, 40)}, {Text: "8", Class: "ok"}}}},
			Legend: []cell{{Text: "12", Class: "n2", Title: "so often"}}}},
		Tables:    []table{{Title: "Workloads", Words: 1, Head: []string{"base", "moments", "placements", "not available", "target absent", "played", "violated"}, Rows: [][]string{{"one-holder", "22", "6248", "1320", "178", "4750", "159"}}}},
		NotPlayed: []string{"56 pairs of a fault and a phase never came."},
		Defects:   []string{"seed 3 gave two histories"},
	}
}

// hostile has texts from outside that must remain texts.
func hostile() page {
	bad := "<script>alert(1)</script>\u202e\x1b[31m\"'`" + strings.Repeat("w", 300)
	return page{
		Kind: bad, Asked: bad, Answer: bad, Interrupted: bad, Command: bad, Version: bad, Numbers: []number{{Value: bad, Label: bad}}, Bound: []string{bad},
		Causes: []group{{Title: bad, Rows: []causeRow{{Count: 1 << 40, What: bad, Where: bad, Find: "x", Remark: bad}}}},
		Finds:  []find{{Key: "x", Title: bad, Why: bad, Story: []story.Sentence{{At: 1e9, Text: bad}}, Texts: []text{{Title: bad, Body: bad}}, Command: bad}},
		Maps:   []heatMap{{Title: bad, Note: bad, Corner: bad, Columns: []string{bad}, Rows: []mapRow{{Name: bad, Cells: []cell{{Text: bad, Title: bad}}}}}},
		Tables: []table{{Title: bad, Head: []string{bad, bad}, Rows: [][]string{{bad, bad}}}}, NotPlayed: []string{bad}, Defects: []string{bad}, Texts: []text{{Title: bad, Body: bad}},
	}
}

func render(t *testing.T, p page) string {
	t.Helper()
	var b bytes.Buffer
	must.Succeed(t, p.writeHTML(&b))
	return b.String()
}

// Readers see changes of a page only if somebody intended them.
func TestPageGolden(t *testing.T) {
	got := render(t, sample())
	_, got, _ = strings.Cut(got, "</style>") // the report has it, too
	path := filepath.Join("testdata", "page.html")
	if *update {
		must.Succeed(t, disk.Bytes(path, []byte(got)))
	}
	want, err := os.ReadFile(path)
	must.Succeed(t, err)
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s differs; with -update it is written anew (-want +got):\n%s", path, d)
	}
}

// A page is one file. No text from outside becomes markup of it.
func TestPageIsOneFile(t *testing.T) {
	for name, p := range map[string]page{"sample": sample(), "hostile": hostile(), "empty": {Kind: "exploration", Asked: "Is there anything?"}} {
		text := render(t, p)
		for _, bad := range []string{"<script", "src=", "<link", "url(http", "\x1b", "\u202e"} {
			if strings.Contains(text, bad) {
				t.Errorf("%s: the page has %q", name, bad)
			}
		}
	}
}

// The pages must work on a desk, on a phone, in the dark and with a screen
// reader. Nothing is wider than the window, every link leads somewhere, and the
// console reports no error.
func TestPagesInABrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a browser")
	}
	b := browser.Start(t)
	for name, page := range map[string]page{"sample": sample(), "hostile": hostile()} {
		file := filepath.Join(t.TempDir(), "page.html")
		must.Succeed(t, disk.File(file, page.writeHTML))
		for _, v := range browser.Views() {
			p := b.Open(file, v)
			var found []string
			p.Eval(`(() => {
  for (const d of document.querySelectorAll("details")) d.open = true;
  const found = [...document.querySelectorAll('a[href^="#"]')].filter(a => !document.getElementById(a.getAttribute("href").slice(1))).map(a => "a link leads nowhere: " + a.outerHTML);
  const over = document.documentElement.scrollWidth - innerWidth;
  if (over > 0) found.push("the page is " + over + " px wider than the window");
  return found;
})()`, &found)
			if name == "sample" {
				found = append(found, append(p.Covered(), p.Barriers()...)...)
			}
			for _, f := range append(found, p.Errors()...) {
				t.Errorf("%s, %s: %s", name, v, f)
			}
			p.Close()
		}
		p := b.Open(file, browser.View{Width: 1400, Paper: true})
		if n := p.Sheets(""); name == "sample" && (n < 1 || n > 3) {
			t.Errorf("the sample prints on %d sheets", n)
		}
		p.Close()
	}
}

// A page with many finds must stay small enough to open, and short enough to read.
func TestManyDiagramsAreFoldedAndBounded(t *testing.T) {
	drawing := template.HTML(`<svg class="timeline">` + strings.Repeat("<path/>", 30_000) + "</svg>")
	var p page
	for i := range 60 {
		p.Finds = append(p.Finds, find{Key: strconv.Itoa(i), Pictures: []picture{{Title: "drawn", Caption: "Shown: 1 s.", Drawing: drawing}}})
	}
	page := render(t, p)
	if len(page) > 4<<20 {
		t.Errorf("the page has %d bytes", len(page))
	}
	drawn, without := strings.Count(page, `<svg class="timeline">`), strings.Count(page, "no room for the diagram")
	if drawn < 10 || drawn+without != 60 {
		t.Errorf("%d diagrams are drawn, %d left out", drawn, without)
	}
	if open := strings.Count(page, "<h4>drawn</h4>"); open != openFinds {
		t.Errorf("%d diagrams are open", open)
	}
	if p.Finds[59].Pictures[0].Drawing == "" {
		t.Error("the page changed its finds")
	}
}
