package reports

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/internal/browser"
	"github.com/holdfast-go/holdfast/internal/must"
)

// probe is a script for a page. Its value lists the defects of the page.
const probe = `(() => {
  const found = [];
  const wide = document.documentElement.scrollWidth - innerWidth;
  if (wide > 0) found.push("the page is " + wide + "px wider than the window");
  for (const a of document.querySelectorAll('a[href^="#"]'))
    if (!document.getElementById(a.getAttribute("href").slice(1))) found.push("a link leads nowhere: " + a.outerHTML);
  const scripts = [...document.querySelectorAll("script")];
  if (scripts.length !== 1 || !scripts[0].textContent.includes('"use strict"')) found.push(scripts.length + " scripts");
  for (const d of document.querySelectorAll("details")) d.open = true;
  if (!document.querySelector("svg")) found.push("no picture");
  for (const svg of document.querySelectorAll("svg")) {
    if (svg.getAttribute("width") === "0") continue; // patterns for the others
    const box = svg.getBoundingClientRect();
    if (box.width < 1 || box.height < 1) { found.push("a picture without size"); continue; }
    for (const text of svg.querySelectorAll("text")) {
      const b = text.getBoundingClientRect();
      if (b.width > 0 && (b.left < box.left - 1 || b.right > box.right + 1 || b.top < box.top - 1 || b.bottom > box.bottom + 1))
        found.push("cut off in a picture: " + text.textContent);
    }
    if (!svg.classList.contains("cause")) continue;
    const labels = [...svg.querySelectorAll("text")].map(text => ({text: text.textContent, b: text.getBoundingClientRect()}));
    for (const [i, {text, b}] of labels.entries())
      for (const other of labels.slice(i + 1)) {
        const o = other.b, across = Math.min(b.right, o.right) - Math.max(b.left, o.left), down = Math.min(b.bottom, o.bottom) - Math.max(b.top, o.top);
        // Boxes of text are higher than the text itself.
        if (across > 1 && down > b.height / 3) found.push("written over each other in a picture: " + text + " | " + other.text);
      }
  }
  for (const beside of document.querySelectorAll(".beside")) {
    const [a, b] = [beside.parentElement, beside].map(e => e.querySelector("svg.timeline").getBoundingClientRect());
    if (Math.abs(a.left - b.left) > 0.5 || Math.abs(a.width - b.width) > 0.5) found.push("the picture of the survivor starts at " + b.left + "px and is " + b.width + "px wide, the other one " + a.left + " and " + a.width);
  }
  const wider = document.documentElement.scrollWidth - innerWidth;
  if (wider > 0) found.push("with everything open the page is " + wider + "px wider than the window");
  return found;
})()`

// A real browser must show the whole report. Nothing is wider than the window,
// every link leads somewhere, and labels neither overlap nor end in the middle.
// No name brings a script in, and the console reports no error.
func TestBrowserShowsTheReport(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a browser")
	}
	b := browser.Start(t)
	packed := catalogue()
	packed.Results.Runs = packed.Results.Runs[:drawAllBelow]
	for name, d := range map[string]Document{"packed": packed, "sample": sample(), "pair": pair(), "hostile": hostileDocument(), "proofs": proofDocument(), "live": liveSample()} {
		var page bytes.Buffer
		must.Succeed(t, d.HTML(&page))
		file := filepath.Join(t.TempDir(), "report.html")
		must.Succeed(t, os.WriteFile(file, page.Bytes(), 0o644))
		for _, v := range browser.Views() {
			p := b.Open(file, v)
			p.Eval("unpacked", nil)
			var found []string
			p.Eval(probe, &found)
			for _, f := range append(found, p.Errors()...) {
				t.Errorf("%s, %s: %s", name, v, f)
			}
			p.Close()
		}
	}
}

// A link opens a run that the page packs, from another page or from the matrix.
func TestBrowserFollowsALinkToAPackedRun(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a browser")
	}
	file := filepath.Join(t.TempDir(), "report.html")
	out := page(t, catalogue())
	must.Succeed(t, os.WriteFile(file, []byte(out), 0o644))
	violated := regexp.MustCompile(`<p class="packed" id="([^"]+)">[✗~]`).FindAllStringSubmatch(out, -1)
	first, last := violated[0][1], violated[len(violated)-1][1]
	p := browser.Start(t).Open(file+"#"+last, browser.View{Width: 1400})
	const shown = `(async () => {
  await unpacked;
  await new Promise((next) => requestAnimationFrame(() => requestAnimationFrame(next)));
  const body = document.getElementById(decodeURIComponent(location.hash.slice(1))), top = body.closest("details").getBoundingClientRect().top / innerHeight;
  return [body.querySelector("svg.timeline") && body.checkVisibility() ? "" : "it is closed", top < -0.1 || top > 1 ? top + " windows away" : ""].join("");
})()`
	for _, run := range []string{last, first} {
		var wrong string
		if p.Eval(shown, &wrong); wrong != "" {
			t.Errorf("%s: %s", run, wrong)
		}
		p.Eval(`document.querySelector('.matrix a[href="#`+first+`"]').click()`, nil)
	}
}

// A page that cannot unpack its parts says what it lacks, as one without its script does.
func TestBrowserSaysWhatIsPacked(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a browser")
	}
	file := filepath.Join(t.TempDir(), "report.html")
	must.Succeed(t, os.WriteFile(file, []byte(strings.Replace(page(t, catalogue()), `const packed = "`, `const packed = "AAAA`, 1)), 0o644))
	p := browser.Start(t).Open(file, browser.View{Width: 1400})
	var found string
	p.Eval(`unpacked.catch(() => {}).then(() => document.querySelector(".missing").checkVisibility() && document.getElementById("filter").checkVisibility() ? document.querySelector(".missing").textContent : "nothing")`, &found)
	if !strings.HasPrefix(found, "Without its script") {
		t.Errorf("the page says %q", found)
	}
}
