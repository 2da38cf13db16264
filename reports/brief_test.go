package reports_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/internal/browser"
	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/internal/nightly"
	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/holdfast-go/holdfast/internal/suite/report"
	"github.com/holdfast-go/holdfast/reports"
	"github.com/holdfast-go/holdfast/reports/results"
)

// play returns the results of a run of scenarios with locks.
func play(t *testing.T, scenarios, locks string) reports.Document {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	res, err := holdfast.Run(t.Context(), holdfast.Options{Scenarios: strings.Fields(scenarios), Locks: strings.Fields(locks), Dir: dir})
	must.Succeed(t, err)
	return report.DocumentOf(suite.Dir(dir), res)
}

func briefOf(t *testing.T, d reports.Document, cell string) string {
	t.Helper()
	var b bytes.Buffer
	must.Succeed(t, d.Brief(&b, cell))
	return b.String()
}

// A reviewer who names no run gets the most telling one, and the reason for the
// choice.
func TestTheMostTellingViolationIsChosen(t *testing.T) {
	d := play(t, "contention holder-pause failover-lost-write", "set-px reentrant multi")
	r, why, err := reports.Choose(d, "")
	if err != nil || r == nil || r.Scenario != "failover-lost-write" {
		t.Fatalf("chosen %+v, %v", r, err)
	}
	for _, want := range []string{"two holders, is the worst", "another lock survives the same"} {
		if !strings.Contains(why, want) {
			t.Errorf("the reason %q lacks %q", why, want)
		}
	}
	for i := range d.Results.Runs { // an unexpected verdict says more
		if x := &d.Results.Runs[i]; x.Scenario == "holder-pause" && x.Lock == "set-px" {
			x.AsExpected = false
		}
	}
	if r, why, _ := reports.Choose(d, ""); r == nil || r.Scenario != "holder-pause" || !strings.Contains(why, "nobody expects it") {
		t.Errorf("chosen %+v because %q", r, why)
	}
	if r, _, _ := reports.Choose(d, "failover-lost-write/multi"); r == nil || r.Lock != "multi" {
		t.Errorf("chosen %+v, asked for multi", r)
	}
	if _, _, err := reports.Choose(d, "failover-lost-write/no-such"); !errors.As(err, new(*reports.CellError)) {
		t.Errorf("error %v", err)
	}
}

// A design review is about hazards, and a failover comes first. The act of an operator
// is no hazard.
func TestAFailoverIsChosenBeforeADeletedKey(t *testing.T) {
	for _, c := range []struct{ scenarios, locks, want string }{
		{"key-deleted failover-lost-write", "reentrant", "failover-lost-write"},
		{"key-deleted holder-pause late-release", "set-px", "late-release"},
		{"late-release cluster-failover", "set-px", "cluster-failover"},
		{"key-deleted", "set-px", "key-deleted"},
	} {
		d := play(t, c.scenarios, c.locks)
		if r, why, err := reports.Choose(d, ""); err != nil || r.Scenario != c.want {
			t.Errorf("of %s, chosen %+v because %q, %v", c.scenarios, r, why, err)
		}
	}
}

// A lock without a lease survives a pause, and is no remedy.
func TestALockWithoutALeaseIsNoRemedy(t *testing.T) {
	got := briefOf(t, play(t, "holder-pause", "set-px-lua setnx"), "holder-pause/set-px-lua")
	if want := "only a lock without a lease holds (setnx). That is no remedy"; !strings.Contains(got, want) {
		t.Errorf("the page lacks %q", want)
	}
}

// The page answers every question of a review, and needs no other file.
func TestTheBriefIsWhole(t *testing.T) {
	d := play(t, "failover-lost-write", "reentrant multi")
	got := briefOf(t, d, "failover-lost-write/reentrant")
	hash := ""
	for _, r := range d.Results.Runs {
		if r.Lock == "reentrant" {
			hash = r.HistorySHA256
		}
	}
	for _, want := range []string{
		"<h1>reentrant violates exclusion in failover-lost-write</h1>", "<b>Claim.</b> exclusion: ", "<b>Verdict.</b> violated (contract broken), as the scenario argues.",
		"<h2>reentrant breaks</h2>", "<h2>multi survives, on the same axis of time</h2>", `class=promoted`, "<h2>Story</h2>", "Fault: ", "two holders from here on",
		"<h2>Why</h2>", "Why multi survives: ", "<h2>Remedy</h2>", "In this scenario multi holds.", "holdfast run failover-lost-write", "<code>" + hash + "</code>",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if n := strings.Count(got, "<time>"); n < 4 || n > 6 {
		t.Errorf("the story has %d lines", n)
	}
	if bad := regexp.MustCompile(`(?i)(src|href|url)\s*[=(]\s*["']?(https?:|//|[a-z]+/)`).FindString(got); bad != "" {
		t.Errorf("the page refers to %s", bad)
	}
	if survives := briefOf(t, d, "failover-lost-write/multi"); !strings.Contains(survives, "multi keeps its claims") || strings.Contains(survives, "<h2>Remedy</h2>") {
		t.Error("the page of the lock that survives does not say so, or has a remedy")
	}
}

func TestNothingWasViolated(t *testing.T) {
	d := play(t, "contention", "reentrant")
	if got := briefOf(t, d, ""); !strings.Contains(got, "<h1>No run violates anything</h1>") || !strings.Contains(got, "1 run of 1 scenario with 1 lock.") {
		t.Errorf("the page says something else:\n%s", got)
	}
	if err := d.SVG(io.Discard, ""); err == nil || !strings.Contains(err.Error(), "no run violates anything") {
		t.Errorf("a picture of nothing: %v", err)
	}
	d.Results.Runs[0].Failure = "the process was killed"
	if got := briefOf(t, d, ""); !strings.Contains(got, "1 run could not be decided") {
		t.Error("the page hides a run that proves nothing")
	}
	if got := briefOf(t, reports.Document{}, ""); !strings.Contains(got, "Nothing was run") {
		t.Error("results without a run look as if they proved something")
	}
}

// The file must show the same picture in programs that know neither CSS variables
// nor the page around it.
func TestTheSVGStandsAlone(t *testing.T) {
	d := play(t, "failover-lost-write", "reentrant")
	var b bytes.Buffer
	must.Succeed(t, d.SVG(&b, "failover-lost-write/reentrant"))
	for dec := xml.NewDecoder(bytes.NewReader(b.Bytes())); ; {
		if _, err := dec.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{`xmlns="http://www.w3.org/2000/svg"`, `id="p-overlap"`, ".hold", `width="1120"`} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the picture lacks %s", want)
		}
	}
	for _, bad := range []string{"var(", "<script", "@media"} {
		if strings.Contains(b.String(), bad) {
			t.Errorf("the picture has %s", bad)
		}
	}
}

// long makes every text of a document as long as possible.
func long(d reports.Document) reports.Document {
	words := strings.Repeat("the servers have lost <b>what</b> was granted, ", 60)
	for i := range d.About {
		d.About[i].Otherwise, d.About[i].Title, d.About[i].Story = words, words, words
	}
	for i := range d.Results.Runs {
		r := &d.Results.Runs[i]
		r.File = "./" + strings.Repeat("scenarios/", 60) + "mine.yaml"
		r.Because = map[checker.Property]string{}
		for p, v := range r.Verdicts {
			v.Reason = words
			r.Verdicts[p], r.Because[p] = v, words
		}
	}
	d.Results.Version, d.Results.Made = words, &results.Made{Date: words, Host: words}
	return d
}

// The page of any run fits on one sheet and cuts nothing off.
func TestTheBriefIsOneSheet(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a browser")
	}
	b := browser.Start(t)
	const scenarios, locks = "contention holder-pause failover-lost-write", "set-px reentrant multi setnx"
	missing := play(t, "failover-lost-write", "reentrant")
	missing.Histories = nil
	for name, d := range map[string]reports.Document{
		"some": play(t, scenarios, locks), "long": long(play(t, scenarios, locks)), "calm": play(t, "contention", "reentrant"), "missing": missing,
	} {
		cells := append([]string{""}, reports.CellsOf(d.Results)...)
		for i := 0; i < len(cells); i += nightly.Every(3) {
			cell := cells[i]
			file := filepath.Join(t.TempDir(), "brief.html")
			must.Succeed(t, os.WriteFile(file, []byte(briefOf(t, d, cell)), 0o644))
			p := b.Open(file, browser.View{Width: 711, Paper: true})
			var over []string
			p.Eval(`(() => {
  const sheet = document.querySelector(".sheet"), box = sheet.getBoundingClientRect(), over = [];
  for (const e of sheet.querySelectorAll("h1, h2, p, li, svg")) {
    const b = e.getBoundingClientRect();
    if (b.bottom > box.bottom + 1 || b.right > box.right + 1) over.push((e.textContent.trim() || e.tagName).slice(0, 60) + " is outside of the sheet");
    if (e.tagName === "svg" && b.height < 60) over.push("a picture is " + b.height + " px high");
  }
  return over;
})()`, &over)
			if n := p.Sheets(os.Getenv("HOLDFAST_BRIEF_PDF")); n != 1 {
				t.Errorf("%s, %q: %d sheets", name, cell, n)
			}
			for _, o := range append(over, p.Errors()...) {
				t.Errorf("%s, %q: %s", name, cell, o)
			}
			p.Close()
		}
	}
}
