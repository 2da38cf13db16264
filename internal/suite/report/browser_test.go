package report_test

import (
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/internal/browser"
	"github.com/holdfast-go/holdfast/internal/disk"
	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/internal/nightly"
	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/holdfast-go/holdfast/internal/suite/report"
	"github.com/holdfast-go/holdfast/reports/results"
)

// draw plays scenarios against locks, and returns the report. TestTheMatrix of
// cmd/holdfast opens that of the whole catalogue.
func draw(t *testing.T, scenarios, locks string) (page string, dir suite.Dir, res results.Results) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a browser")
	}
	dir = suite.Dir(filepath.Join(t.TempDir(), "run"))
	res, err := holdfast.Run(t.Context(), holdfast.Options{Scenarios: strings.Fields(scenarios), Locks: strings.Fields(locks), Dir: string(dir)})
	must.Succeed(t, err)
	must.Succeed(t, report.Draw(dir, res))
	return dir.File("report.html"), dir, res
}

// The additions of the script must work as a reader uses them.
func TestTheReportIsUsed(t *testing.T) {
	b := browser.Start(t)
	page, _, _ := draw(t, "contention holder-pause failover-lost-write", "set-px reentrant multi")
	p := b.Open(page, browser.View{Width: 1400})
	is := func(want, expression string) {
		t.Helper()
		var got string
		p.Eval("String("+expression+")", &got)
		if got != want {
			t.Errorf("%s is %q, want %q", expression, got, want)
		}
	}
	const set = `(name, value) => { const s = document.querySelector("#filter [name=" + name + "]"); s.value = value; s.dispatchEvent(new Event("change", {bubbles: true})); }`
	const shown = `[...document.querySelectorAll("details.run:not([hidden])")]`

	is("9", shown+".length")
	p.Eval("("+set+`)("lock", "reentrant")`, nil)
	is("3", shown+".length")
	is("true", shown+`.every(r => r.dataset.lock === "reentrant")`)
	is("3 of 9 runs", `document.querySelector("#filter output").textContent`)
	p.Eval("("+set+`)("property", "exclusion")`, nil)
	is("true", shown+`.length > 0 && `+shown+`.every(r => r.dataset.violated.split(" ").includes("exclusion"))`)
	p.Eval("("+set+`)("mark", "ok")`, nil)
	is("0", shown+".length")

	// A link shows its run, also when the filter hides it.
	p.Eval(`new Promise(done => { addEventListener("hashchange", () => setTimeout(done, 50)); location.hash = "#contention/multi"; })`, nil)
	is("true", `document.getElementById("contention/multi").closest("details").open`)
	is("9", shown+".length")

	// The keyboard goes from one violation to the next.
	const here = `document.activeElement.closest("details.run") && document.activeElement.closest("details.run").querySelector(".body").id`
	const stops = `[...document.querySelectorAll("details.run")].filter(r => r.dataset.violated).map(r => r.querySelector(".body").id)`
	p.Press("j")
	is("true", `(`+here+`) === (`+stops+`)[0]`)
	is("true", `document.activeElement.closest("details.run").open`)
	p.Press("j")
	is("true", `(`+here+`) === (`+stops+`)[1]`)
	p.Press("k")
	is("true", `(`+here+`) === (`+stops+`)[0]`)
	p.Press("Enter")
	is("false", `document.activeElement.closest("details.run").open`)
	p.Press("Enter")
	p.Press("Tab")
	is("true", `document.activeElement.tagName !== "BODY" && document.activeElement.tagName !== "SUMMARY"`)

	// So does the scrubber.
	p.Eval(`document.querySelector("details.run[open] input.moment").focus()`, nil)
	is("0", `document.activeElement.value`)
	p.Press("ArrowRight")
	is("1", `document.activeElement.value`)
	is("true", `/^\d+\.\d{3} s/.test(document.activeElement.getAttribute("aria-valuetext"))`)
	is("true", `document.activeElement.nextElementSibling.children.length > 1`)
	for _, e := range p.Errors() {
		t.Error(e)
	}
}

// No text covers another one or leaves the page, whatever is open. The last lock of the
// matrix is there without scrolling.
func TestEveryTextIsReadable(t *testing.T) {
	b := browser.Start(t)
	for _, file := range pages(t, "holder-pause lost-nested-reply failover-lost-write redlock-node-restart-delayed majority-cut-at-acquire", "all") {
		for _, width := range []int{1400, 800, 400} {
			p := b.Open(file, browser.View{Width: width})
			p.Eval(`document.querySelectorAll("details").forEach(d => d.open = true)`, nil)
			for _, f := range p.Covered() {
				t.Errorf("%s, %d px: %s", filepath.Base(file), width, f)
			}
			p.Close()
		}
	}
}

// Readers who see little, or nothing, must be able to use the pages.
func TestThePagesAreAccessible(t *testing.T) {
	b := browser.Start(t)
	scenarios, locks := "contention holder-pause failover-lost-write holder-crash", "set-px reentrant multi setnx"
	if nightly.Every(2) != 1 { // the search takes a second for each run
		scenarios, locks = "contention holder-pause failover-lost-write", "set-px reentrant"
	}
	for _, file := range pages(t, scenarios, locks) {
		for _, v := range []browser.View{{Width: 1400}, {Width: 1400, Dark: true}, {Width: 400}} {
			p := b.Open(file, v)
			for _, f := range p.Barriers() {
				t.Errorf("%s, %s: %s", filepath.Base(file), v, f)
			}
			p.Close()
		}
	}
}

// pages are the report of some runs, and the brief.
func pages(t *testing.T, scenarios, locks string) []string {
	t.Helper()
	page, dir, res := draw(t, scenarios, locks)
	brief := filepath.Join(t.TempDir(), "brief.html")
	must.Succeed(t, disk.File(brief, func(w io.Writer) error { return report.DocumentOf(dir, res).Brief(w, "") }))
	return []string{page, brief}
}
