package reports

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// requireBrowser makes a missing browser a failure instead of a skip.
const requireBrowser = "HOLDFAST_REQUIRE_BROWSER"

// browser finds a Chromium.
func browser(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if os.Getenv(requireBrowser) != "" {
		t.Fatal("no Chromium on the PATH")
	}
	t.Skip("no Chromium on the PATH: the report is not looked at in a browser; make setup installs one")
	return ""
}

// probe runs in the page and leaves its findings in an element of its own.
const probe = `<script data-probe="1">
addEventListener("load", () => {
  const found = [];
  const wide = document.documentElement.scrollWidth - innerWidth;
  if (wide > 0) found.push("the page is " + wide + "px wider than the window");
  for (const a of document.querySelectorAll('a[href^="#"]'))
    if (!document.getElementById(a.getAttribute("href").slice(1))) found.push("a link leads nowhere: " + a.outerHTML);
  const scripts = [...document.querySelectorAll("script")].filter(s => !s.dataset.probe);
  if (scripts.length !== 1 || !scripts[0].textContent.includes('"use strict"')) found.push(scripts.length + " scripts");
  for (const d of document.querySelectorAll("details")) d.open = true;
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
        // Boxes of text are higher than the text in them.
        if (across > 1 && down > b.height / 3) found.push("written over each other in a picture: " + text + " | " + other.text);
      }
  }
  const pre = document.createElement("pre");
  pre.id = "probe";
  pre.textContent = "pictures " + document.querySelectorAll("svg").length + "\n" + found.join("\n") + "\nend";
  document.body.append(pre);
});
</script>`

// A real browser must show the report whole: nothing wider than the window, no
// link that leads nowhere, no text cut off in a picture, no labels of a
// cause written over each other, no script that came
// in with a name.
func TestBrowserShowsTheReport(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a browser several times")
	}
	exe := browser(t)
	for name, d := range map[string]Document{"sample": sample(), "hostile": hostileDocument(), "causes": causeDocument(), "live": liveSample()} {
		var page bytes.Buffer
		if err := HTML(&page, d); err != nil {
			t.Fatal(err)
		}
		html := strings.Replace(page.String(), "</body>", probe+"</body>", 1)
		file := filepath.Join(t.TempDir(), "report.html")
		if err := os.WriteFile(file, []byte(html), 0o644); err != nil {
			t.Fatal(err)
		}
		for _, width := range []int{1400, 800, 400} {
			t.Run(fmt.Sprintf("%s-%d", name, width), func(t *testing.T) { open(t, exe, file, width) })
		}
	}
}

// open shows a page in a window of a width and reports what the probe found.
func open(t *testing.T, exe, file string, width int) {
	cmd := exec.Command(exe, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync",
		"--user-data-dir="+t.TempDir(), fmt.Sprintf("--window-size=%d,2000", width), "--dump-dom", "file://"+file)
	dom, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	_, found, ok := strings.Cut(string(dom), `<pre id="probe">`)
	found, _, end := strings.Cut(found, "\nend")
	if !ok || !end {
		t.Fatal("the page did not load to its end")
	}
	if strings.HasPrefix(found, "pictures 0") {
		t.Error("the report has no picture")
	}
	if _, rest, _ := strings.Cut(found, "\n"); strings.TrimSpace(rest) != "" {
		t.Error(rest)
	}
}
