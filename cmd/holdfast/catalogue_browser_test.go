package main

import (
	"cmp"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/internal/browser"
	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/internal/nightly"
	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/holdfast-go/holdfast/internal/suite/report"
	"github.com/holdfast-go/holdfast/reports/results"
)

// mostBytes is the largest report of the catalogue, in bytes. With 21 locks it is almost as
// large. A page of 4 million takes two seconds to open.
const mostBytes = 2_000_000

// The report of the whole catalogue must be of use on a desk, on a phone, in the dark and
// on paper. Nothing is wider than the window, every link leads somewhere, and the console
// stays quiet. A printed report can be read in a review.
func inABrowser(t *testing.T, dir suite.Dir) {
	b := browser.Start(t)
	page := dir.File("report.html")
	if info, err := os.Stat(page); err != nil || info.Size() > mostBytes {
		t.Errorf("the report has %d bytes, %v; at most %d are allowed", info.Size(), err, mostBytes)
	}
	open := func(v browser.View) *browser.Page {
		p := b.Open(page, v)
		p.Eval("unpacked", nil)
		return p
	}
	every := nightly.Every(4) // a desk and a phone, in make test
	for i, v := range browser.Views() {
		if i%every != 0 {
			continue
		}
		p := open(v)
		var over float64
		// A part far from the window has no size yet.
		p.Eval(`document.querySelectorAll("article").forEach(a => a.style.contentVisibility = "visible"), document.documentElement.scrollWidth - innerWidth`, &over)
		if over > 0 {
			t.Errorf("%s: the page is %v px wider than the window", v, over)
		}
		for _, e := range p.Errors() {
			t.Errorf("%s: %s", v, e)
		}
		p.Close()
	}
	// A4 without its margins has 718 CSS pixels.
	paper := open(browser.View{Width: 718, Paper: true})
	var cut []string
	paper.Eval(`(() => {
  const found = [], shown = e => e.getClientRects().length > 0;
  for (const e of document.querySelectorAll("th, td, p, li, figure, summary, h1, h2, h3, h4"))
    if (shown(e) && (e.scrollWidth > e.clientWidth + 1 || e.getBoundingClientRect().right > innerWidth + 1)) found.push(e.tagName + " " + e.textContent.trim().slice(0, 60));
  const pairs = [...document.querySelectorAll(".leads .beside")].filter(shown);
  if (pairs.length === 0) found.push("no pair of pictures");
  for (const e of pairs) {
    const [a, b] = [e.closest(".body"), e].map(x => x.querySelector("svg.timeline").getBoundingClientRect());
    if (Math.abs(a.left - b.left) > 0.5 || Math.abs(a.width - b.width) > 0.5) found.push("two pictures have no common axis: " + e.closest("article").id);
  }
  return found;
})()`, &cut)
	for _, c := range cut {
		t.Errorf("on paper: %s", c)
	}
	paper.Close()
	p := open(browser.View{Width: 1400})
	var links struct{ Dead, Files []string }
	p.Eval(`(() => {
  const hrefs = [...new Set([...document.querySelectorAll("a")].map(a => a.getAttribute("href")))];
  return {Dead: hrefs.filter(h => h.startsWith("#") && !document.getElementById(decodeURIComponent(h.slice(1)))), Files: hrefs.filter(h => !h.startsWith("#"))};
})()`, &links)
	for _, l := range links.Dead {
		t.Errorf("the link %s leads nowhere", l)
	}
	for _, l := range links.Files {
		if !suite.Exists(dir.File(filepath.FromSlash(l))) {
			t.Errorf("the link %s leads to no file", l)
		}
	}
	if len(links.Files) == 0 {
		t.Error("no link leads to a history")
	}
	// Runs that the window did not show yet have no height, and a link finds its run
	// nevertheless.
	var top float64
	p.Eval(`new Promise(done => {
  const last = [...document.querySelectorAll("details.run .body")].at(-1);
  addEventListener("hashchange", () => requestAnimationFrame(() => requestAnimationFrame(() => done(last.closest("details").getBoundingClientRect().top / innerHeight))));
  location.hash = last.id;
})`, &top)
	if top < -0.1 || top > 1 {
		t.Errorf("a link to the last run shows it %.2f windows away", top)
	}
	if n := p.Sheets(os.Getenv("HOLDFAST_REPORT_PDF")); n > 48 {
		t.Errorf("printed, the report has %d pages; at most 48 are allowed", n)
	} else {
		t.Logf("printed, the report has %d pages", n)
	}
}

// fullest is the number of scenarios that make test draws whole. make nightly draws all.
const fullest = 12

// No label covers another one in the fullest pictures: those of every lock in the scenarios
// with the most events in a run. A page of one scenario draws all of its runs.
func everyLabelIsReadable(t *testing.T, dir suite.Dir, res results.Results) {
	runs, events := map[string][]results.Run{}, map[string]int{}
	for _, r := range res.Runs {
		h, err := suite.ReadHistory(dir.File(r.History))
		must.Succeed(t, err)
		runs[r.Scenario], events[r.Scenario] = append(runs[r.Scenario], r), max(events[r.Scenario], len(h.Events))
	}
	names := slices.SortedFunc(maps.Keys(events), func(a, b string) int {
		return cmp.Or(cmp.Compare(events[b], events[a]), cmp.Compare(a, b))
	})
	if !nightly.On() {
		names = names[:fullest]
	}
	for some := range slices.Chunk(names, fullest) { // a browser has five minutes
		t.Run(strings.Join(some, "+"), func(t *testing.T) {
			b := browser.Start(t)
			for i, name := range some {
				must.Succeed(t, report.Draw(dir, results.Results{Runs: runs[name]}))
				v := browser.View{Width: []int{1400, 800, 400}[i%3]}
				p := b.Open(dir.File("report.html"), v)
				p.Eval(`document.querySelectorAll("details").forEach(d => d.open = true)`, nil)
				for _, f := range p.Covered() {
					t.Errorf("%s, %s: %s", name, v, f)
				}
				p.Close()
			}
		})
	}
}
