package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/internal/browser"
	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/internal/playground"
	"github.com/holdfast-go/holdfast/internal/suite"
)

// Both pages must work as a visitor uses them: the one that is served, and the one that
// has the simulator with it. Their numbers must be those of the command.
func TestThePlaygroundIsUsed(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a browser, and builds WebAssembly")
	}
	t.Run("served", func(t *testing.T) {
		page, err := playground.Handler(suite.Here{}, 1)
		must.Succeed(t, err)
		use(t, page)
	})
	t.Run("static", func(t *testing.T) {
		dir := t.TempDir()
		if err := write(t.Context(), dir); err != nil { // before the browser, whose time is short
			t.Fatal(err)
		}
		use(t, http.FileServer(http.Dir(dir)))
	})
}

func use(t *testing.T, page http.Handler) {
	b := browser.Start(t)
	s := httptest.NewServer(page)
	t.Cleanup(s.Close)
	p := b.Open(s.URL+"/", browser.View{Width: 1400})
	defer p.Close()
	get := func(expression string) (got string) {
		t.Helper()
		p.Eval("String("+expression+")", &got)
		return got
	}
	// act does something, and waits for what comes of it.
	act := func(expression string) {
		t.Helper()
		p.Eval(fmt.Sprintf(`(async () => {
  %s;
  const status = document.getElementById("status"), until = Date.now() + 120000;
  while (status.className === "busy" || status.textContent === "Loading…") {
    if (Date.now() > until) throw new Error("still busy: " + status.textContent);
    await new Promise((done) => setTimeout(done, 20));
  }
})()`, expression), nil)
	}
	same := func(scenario, lock string, seed uint64) {
		t.Helper()
		if want := hashOf(t.Context(), t, scenario, lock, seed); get(`document.getElementById("hash").textContent`) != want {
			t.Errorf("%s with %s: the hash is %s, the command gives %s", scenario, lock, get(`document.getElementById("hash").textContent`), want)
		}
	}
	const picture = `document.querySelector("#picture svg.timeline").outerHTML`

	act("")
	t.Log(get(`document.getElementById("status").textContent`), "from a cold start")
	same("failover-lost-write", "reentrant", 1)
	// A violation has a survivor beside it, on the same axis. One slider moves both.
	const pictures = `[...document.querySelectorAll("#picture svg.timeline[data-to]")]`
	if got := get(pictures + `.map((s) => s.dataset.from + "-" + s.dataset.to).join(" ")`); len(strings.Fields(got)) != 2 || strings.Fields(got)[0] != strings.Fields(got)[1] {
		t.Errorf("the axes of the two pictures are %q", got)
	}
	act(`const m = document.querySelector("input.moment"); m.value = 500; m.dispatchEvent(new Event("input"))`)
	if got := get(`[...document.querySelectorAll("input.moment")].map((m) => m.value)`); got != "500,500" {
		t.Errorf("the moments are %s", got)
	}
	survivor := get(`document.querySelector(".beside h4 a").textContent`)
	act(`await new Promise((done) => {
    addEventListener("hashchange", done, {once: true});
    document.querySelector(".beside h4 a").click();
  })`)
	same("failover-lost-write", survivor, 1)
	if get(`document.querySelectorAll("#picture .beside").length`) != "0" || get(`document.getElementById("lock").value`) != survivor {
		t.Errorf("the link to %s leads elsewhere", survivor)
	}
	act(`const s = document.getElementById("scenario"); s.value = "holder-pause"; s.dispatchEvent(new Event("change"))`)
	act(`const l = document.getElementById("lock"); l.value = "fenced"; l.dispatchEvent(new Event("change"))`)
	same("holder-pause", "fenced", 1)
	t.Log(get(`document.getElementById("status").textContent`), "once it is warm")

	before := get(picture)
	act(`const i = document.getElementById("p-faults[0].for"); i.value = Number(i.value) - 12; i.dispatchEvent(new Event("input"))`)
	if get(picture) == before {
		t.Error("the slider changes nothing in the picture")
	}
	if got := get(`document.getElementById("command").textContent`); got != "holdfast run ./holder-pause.yaml --lock fenced --seed 1" {
		t.Errorf("the command is %q", got)
	}
	file := filepath.Join(t.TempDir(), get(`document.getElementById("save").download`))
	must.Succeed(t, os.WriteFile(file, []byte(get(`decodeURIComponent(document.getElementById("save").href.split(",").slice(1).join(","))`)), 0o644))
	same(file, "fenced", 1)
	act(`document.getElementById("next").click()`)
	same(file, "fenced", 2)

	// A link shows what was chosen.
	q := b.Open(get("location.href"), browser.View{Width: 400})
	defer q.Close()
	var hash string
	q.Eval(`new Promise((done) => { const look = setInterval(() => { const h = document.getElementById("hash").textContent; if (h) { clearInterval(look); done(h); } }, 20); })`, &hash)
	if want := get(`document.getElementById("hash").textContent`); hash != want {
		t.Errorf("the link gives the history %s, and led here from %s", hash, want)
	}
	var over float64
	q.Eval(`[...document.querySelectorAll("details")].forEach((d) => { d.open = true; }), document.documentElement.scrollWidth - innerWidth`, &over)
	if over > 0 {
		t.Errorf("at 400 px the page is %v px wider than the window", over)
	}

	// A choice that cannot be played says why, and the next choice is played.
	act(`await new Promise((done) => {
    addEventListener("hashchange", done, {once: true});
    location.hash = "scenario=holder-pause&lock=fenced&seed=1&workload.lease=%3Cb%3E1";
  })`)
	if got := get(`document.getElementById("error").textContent`); !strings.Contains(got, "workload.lease must be a time") {
		t.Errorf("the error is %q", got)
	}
	act(`document.getElementById("reset").click()`)
	same("holder-pause", "fenced", 1)
	if get(`document.getElementById("error").hidden`) != "true" {
		t.Error("the error stays")
	}
	for _, e := range slices.Concat(p.Barriers(), q.Barriers(), p.Errors(), q.Errors()) {
		if !strings.Contains(e, "status of 400") { // what the browser says of the refusal above
			t.Error(e)
		}
	}
}

// hashOf is the hash of the history that holdfast run gives.
func hashOf(ctx context.Context, t *testing.T, scenario, lock string, seed uint64) string {
	t.Helper()
	res, err := suite.Run(ctx, suite.Options{Scenarios: []string{scenario}, Locks: []string{lock}, Seed: seed})
	if err != nil || len(res.Runs) != 1 {
		t.Fatal(res.Runs, err)
	}
	return res.Runs[0].HistorySHA256
}
