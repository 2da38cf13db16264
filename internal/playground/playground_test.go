package playground

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/holdfast-go/holdfast/reports/results"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// ask plays a request.
func ask(t *testing.T, r Request) Response {
	t.Helper()
	body, err := json.Marshal(r)
	must.Succeed(t, err)
	text, err := Answer(t.Context(), suite.Here{}, body)
	if err != nil {
		t.Fatalf("%+v: %v", r, err)
	}
	var got Response
	must.Succeed(t, json.Unmarshal(text, &got))
	return got
}

// hashOf is the hash of the history that holdfast run gives.
func hashOf(t *testing.T, scenario, lock string, seed uint64) string {
	t.Helper()
	res, err := suite.Run(t.Context(), suite.Options{Scenarios: []string{scenario}, Locks: []string{lock}, Seed: seed})
	if err != nil || len(res.Runs) != 1 {
		t.Fatal(res.Runs, err)
	}
	return res.Runs[0].HistorySHA256
}

// A visitor must get, to the bit, what the command gives in a terminal.
func TestTheCommandGivesTheSameHistory(t *testing.T) {
	got := ask(t, Request{Scenario: "failover-lost-write", Lock: "reentrant", Seed: 3})
	if want := hashOf(t, "failover-lost-write", "reentrant", 3); got.Hash != want || got.Changed {
		t.Errorf("hash %s, changed %v, want %s", got.Hash, got.Changed, want)
	}
	if got.Command != "holdfast run failover-lost-write --lock reentrant --seed 3" {
		t.Errorf("command %q", got.Command)
	}
	for _, want := range []string{"<svg class=\"timeline\"", "contract broken", "two holders", "as expected"} {
		if !strings.Contains(got.HTML, want) {
			t.Errorf("the page lacks %q", want)
		}
	}

	if got.Beside == "" || !strings.Contains(got.HTML, "Why <b>"+got.Beside+"</b> survives") || strings.Count(got.HTML, "<svg class=\"timeline\"") != 2 {
		t.Errorf("beside the violation stands %q", got.Beside)
	}
	if alone := ask(t, Request{Scenario: "failover-lost-write", Lock: got.Beside, Seed: 3}); alone.Beside != "" || violated(alone.Verdicts) {
		t.Errorf("%s survives, and beside it stands %q", got.Beside, alone.Beside)
	}

	same := ask(t, Request{Scenario: "failover-lost-write", Lock: "reentrant", Seed: 3, Set: map[string]string{"workload.lease": "20s"}})
	if same.Hash != got.Hash || same.Changed {
		t.Error("a parameter with the value that it has changes the scenario")
	}
	other := ask(t, Request{Scenario: "failover-lost-write", Lock: "reentrant", Seed: 3, Set: map[string]string{"workload.lease": "9s", "override.client-1.think": "2.5s", "topology.lag": "80ms", "topology.clients": "5"}})
	if other.Hash == got.Hash || !other.Changed || strings.Contains(other.HTML, "as expected") {
		t.Error("the changed scenario is as the other, or is compared with what that argues")
	}
	if other.Command != "holdfast run ./failover-lost-write.yaml --lock reentrant --seed 3" || other.File != "failover-lost-write.yaml" {
		t.Errorf("command %q, file %q", other.Command, other.File)
	}
	if strings.Contains(other.HTML, "Why <b>") {
		t.Error("the argument of the scenario stands beside a changed one")
	}
	file := filepath.Join(t.TempDir(), other.File)
	must.Succeed(t, os.WriteFile(file, []byte(other.YAML), 0o644))
	if want := hashOf(t, file, "reentrant", 3); other.Hash != want {
		t.Errorf("hash %s, and the YAML gives %s", other.Hash, want)
	}
	i := slices.IndexFunc(other.Params, func(p Param) bool { return p.Path == "topology.lag" })
	if i < 0 || other.Params[i].Value != "0s" || !slices.Contains(other.Params[i].Stops, "80ms") {
		t.Errorf("parameters %v", other.Params)
	}
}

// The limits must leave the catalogue as it is, and every slider must have somewhere to
// go. An end of it may be out of reach, and then the page names the reason.
func TestEverySliderOfTheCatalogue(t *testing.T) {
	refused := 0
	for i, s := range scenarios.Catalogue() {
		locks := locksOf(s)
		if len(locks) == 0 {
			t.Fatalf("%s is played with no lock", s.Name)
		}
		if _, err := (Request{Scenario: s.Name, Lock: locks[0], Seed: 1}).plan(); err != nil {
			t.Errorf("%s as it is: %v", s.Name, err)
		}
		all := params(s, nil)
		for _, p := range all {
			if !slices.Contains(p.Stops, p.Value) || len(p.Stops) < 2 || len(p.Stops) > 200 || p.Of == "" || p.About == "" {
				t.Errorf("%s: %+v", s.Name, p)
			}
			if i%5 != 0 { // all of them take half a minute
				continue
			}
			for _, stop := range []string{p.Stops[0], p.Stops[len(p.Stops)-1]} {
				_, err := (Request{Scenario: s.Name, Lock: locks[0], Seed: 1, Set: map[string]string{p.Path: stop}}).plan()
				if _, ok := errors.AsType[*refusedError](err); ok {
					refused++
				} else if err != nil {
					t.Errorf("%s, %s = %s: %v", s.Name, p.Path, stop, err)
				}
			}
		}
		if n := len(all); n < 6 || n > maxSet {
			t.Errorf("%s has %d parameters", s.Name, n)
		}
	}
	if refused > 20 {
		t.Errorf("%d ends of sliders are out of reach", refused)
	}
}

func TestRefusals(t *testing.T) {
	const good = `"scenario":"failover-lost-write","lock":"reentrant","seed":1`
	for body, want := range map[string]string{
		``:                      "cannot be read",
		`[]`:                    "cannot be read",
		`{"scenario":"x"} more`: "cannot be read",
		`{` + good + `,"x":1}`:  "cannot be read",
		`{"scenario":"../../etc/passwd","lock":"reentrant"}`:                                                            `no scenario "../../etc/passwd"`,
		`{"scenario":"<script>alert(1)</script>","lock":"reentrant"}`:                                                   `no scenario "<script>`,
		`{"scenario":"contention","lock":"reentrant+fenced"}`:                                                           "no lock",
		`{"scenario":"fence-rollback","lock":"reentrant","seed":1}`:                                                     "is not played with reentrant",
		`{` + good + `,"set":{"workload.user":"careful"}}`:                                                              "has no parameter",
		`{` + good + `,"set":{"topology.clients":"17"}}`:                                                                "whole number from 1 to 16",
		`{` + good + `,"set":{"topology.clients":"2"}}`:                                                                 "client-3",
		`{` + good + `,"set":{"workload.holds":"31"}}`:                                                                  "whole number from 1 to 30",
		`{` + good + `,"set":{"workload.holds":"30","topology.clients":"16"}}`:                                          "at most 200",
		`{` + good + `,"set":{"workload.think":"24h"}}`:                                                                 "a time from 0s to 10m",
		`{` + good + `,"set":{"workload.think":"10m","workload.holds":"9"}}`:                                            "virtual time",
		`{` + good + `,"set":{"workload.lease":"1ms"}}`:                                                                 "at least 100ms",
		`{` + good + `,"set":{"workload.lease":"\u001b[2J"}}`:                                                           "must be a time",
		`{"scenario":"contention","lock":"reentrant","seed":9007199254740993}`:                                          "seed",
		`{"scenario":"clock-drift","lock":"reentrant","seed":1,"set":{"faults[0].rate":"NaN"}}`:                         "a number from",
		`{` + good + `,"set":{"workload.lease":"` + strings.Repeat("1", maxRequest) + `s"}}`:                            "more than 8192 bytes",
		`{` + good + `,"set":{"a":"1"` + many(maxSet) + `}}`:                                                            "more than 64 parameters",
		`{"scenario":"contention","lock":"reentrant","seed":1,"set":{"workload.lease":"1s","workload.lease ":"` + `"}}`: "has no parameter",
	} {
		text, err := Answer(t.Context(), nil, []byte(body))
		var why *refusedError
		if !errors.As(err, &why) || !strings.Contains(why.Reason, want) {
			t.Errorf("%.100s: %v, want %q", body, err, want)
		}
		var got refusal
		if json.Unmarshal(text, &got) != nil || got.Error == "" || strings.ContainsAny(string(text), "<>\x1b") {
			t.Errorf("%.100s: the answer is %s", body, text)
		}
	}
}

func many(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(`,"p` + strings.Repeat("x", i) + `":"1"`)
	}
	return b.String()
}

// gone is a runner whose process does not answer in time.
type gone struct{}

func (gone) Play(_ context.Context, jobs []suite.Job, got func(suite.Answer)) error {
	got(suite.Answer{Run: results.Run{Lock: jobs[0].Lock, Failure: "no progress for 10s\ngoroutine 1 [running]:"}})
	return nil
}

// A run that takes too long is given up, with a reason and without its stacks.
func TestARunThatDoesNotEnd(t *testing.T) {
	text, err := Answer(t.Context(), gone{}, []byte(`{"scenario":"contention","lock":"reentrant","seed":1}`))
	var why *refusedError
	if !errors.As(err, &why) || !strings.Contains(string(text), "no progress for 10s") || strings.Contains(string(text), "goroutine") {
		t.Errorf("%v: %s", err, text)
	}
}

// slow is a runner that gives up whatever plays more than one lock.
type slow struct{ asked *int }

func (s slow) Play(ctx context.Context, jobs []suite.Job, got func(suite.Answer)) error {
	*s.asked++
	if strings.Contains(string(jobs[0].Args), `"beside"`) {
		return gone{}.Play(ctx, jobs, got)
	}
	return suite.Here{}.Play(ctx, jobs, got)
}

// The search for a survivor must not cost a visitor the answer on the chosen lock.
func TestASurvivorThatTakesTooLong(t *testing.T) {
	asked := 0
	text, err := Answer(t.Context(), slow{&asked}, []byte(`{"scenario":"failover-lost-write","lock":"reentrant","seed":1}`))
	var got Response
	if err := errors.Join(err, json.Unmarshal(text, &got)); err != nil || asked != 2 || !violated(got.Verdicts) || got.Beside != "" {
		t.Errorf("%v: %d jobs, beside %q", err, asked, got.Beside)
	}
}

// stuck is a runner that never answers.
type stuck struct{}

func (stuck) Play(ctx context.Context, _ []suite.Job, _ func(suite.Answer)) error {
	<-ctx.Done()
	return ctx.Err()
}

// A visitor gets an answer in bounded time, whatever the machine does.
func TestAnAnswerHasADeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		text, err := Answer(t.Context(), stuck{}, []byte(`{"scenario":"contention","lock":"reentrant","seed":1}`))
		var why *refusedError
		if took := time.Since(begun); !errors.As(err, &why) || took != answerTime || !strings.Contains(string(text), "did not end within 40s") {
			t.Errorf("%v after %v: %s", err, took, text)
		}
	})
}

// counting counts how often each lock is played.
type counting map[string]int

func (c counting) Play(ctx context.Context, jobs []suite.Job, got func(suite.Answer)) error {
	var o order
	if err := json.Unmarshal(jobs[0].Args, &o); err != nil {
		return err
	}
	for _, lock := range append(o.Beside, "")[:max(1, len(o.Beside))] {
		c[cmp.Or(lock, o.Lock)]++
	}
	return suite.Here{}.Play(ctx, jobs, got)
}

// The chosen lock is played once, also where a survivor stands beside it.
func TestTheChosenLockIsPlayedOnce(t *testing.T) {
	played := counting{}
	text, err := Answer(t.Context(), played, []byte(`{"scenario":"failover-lost-write","lock":"reentrant","seed":1}`))
	var got Response
	if err := errors.Join(err, json.Unmarshal(text, &got)); err != nil || got.Beside == "" || played["reentrant"] != 1 {
		t.Errorf("%v: beside %q, played %v", err, got.Beside, played)
	}
}

// However many locks fail, a request plays few of them.
func TestFewLocksAreTried(t *testing.T) {
	for _, s := range scenarios.Catalogue() {
		p, err := (Request{Scenario: s.Name, Lock: locksOf(s)[0], Seed: 1}).plan()
		must.Succeed(t, err)
		if all := p.survivors(); len(all) > mostTried || slices.Contains(all, p.Lock) {
			t.Errorf("%s: beside %s may stand %v", s.Name, p.Lock, all)
		}
	}
}

// Whatever somebody sends is planned within the limits, or refused.
func FuzzRequest(f *testing.F) {
	for _, body := range []string{
		`{"scenario":"failover-lost-write","lock":"reentrant","seed":1,"set":{"workload.lease":"9s","topology.clients":"5"}}`,
		`{"scenario":"clock-drift","lock":"multi","seed":1,"set":{"faults[0].rate":"1.05"}}`,
		`{"scenario":"reentrancy","lock":"fenced","set":{"workload.nested[0]":"1s"}}`,
		`{"scenario":"holder-pause","lock":"fair","set":{"faults[0].for":"-1s","override.client-1.holds":"1e9"}}`,
		`{"set":{"":""}}`, `null`, "{\"lock\":\"\xff\"}",
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var why *refusedError
		r, err := decode(body)
		if err != nil {
			if !errors.As(err, &why) {
				t.Fatalf("%q: %v", body, err)
			}
			return
		}
		p, err := r.plan()
		switch {
		case errors.As(err, &why):
		case err != nil:
			t.Fatalf("%q: %v", body, err)
		case p.scenario.Topology.Clients > maxClients, bounded(p.scenario) != nil, !slices.Contains(locks.Names(), p.Lock):
			t.Fatalf("%q is planned as %+v", body, p.scenario)
		default:
			if again, err := scenarios.Parse("x.yaml", []byte(p.source)); err != nil || again.Name != p.Scenario {
				t.Fatalf("%q: the YAML is not read again: %v", body, err)
			}
		}
	})
}

// The page must need nothing from elsewhere, and must show no text that was not
// escaped.
func TestThePageIsWhole(t *testing.T) {
	for _, w := range []where{overHTTP, InBrowser} {
		files, err := Files(w)
		must.Succeed(t, err)
		page := string(files["index.html"])
		for _, s := range scenarios.Catalogue() {
			if !strings.Contains(page, `<option value="`+s.Name+`"`) {
				t.Errorf("%s: the page lacks %s", w, s.Name)
			}
		}
		for name, text := range files {
			if strings.Contains(strings.ReplaceAll(string(text), "http://www.w3.org/2000/svg", ""), "://") {
				t.Errorf("%s: %s refers to another place", w, name)
			}
		}
		if strings.Contains(page, "style=") || strings.Contains(page, "onclick") || strings.Contains(page, "<script>") {
			t.Errorf("%s: the page has what its policy forbids", w)
		}
		if _, has := files["worker.js"]; has != (w == InBrowser) || strings.Contains(page, "wasm-unsafe-eval") != (w == InBrowser) {
			t.Errorf("%s: worker %v", w, has)
		}
	}
}
