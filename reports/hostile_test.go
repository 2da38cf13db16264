package reports

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/reports/results"
)

// hostile are names that break out of any format that does not escape them.
var hostile = []string{
	`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `'; DROP TABLE locks; --`, "a|b`c`*d*_e_[f](http://evil)",
	"esc\x1b[31mred\x1b]0;title\a", "nul\x00 vt\x0b \ufffe", "\u202etxt.exe", "bad\xff\xfeutf8", "", "線路-🔒", `</title></svg></style><b>`,
	`{{.}}`, `]]>`, strings.Repeat("long-name-", 60), "line\nbreak\r\n| x |",
}

// hostileDocument has a hostile string in every field that can come from outside.
func hostileDocument() Document {
	var d Document
	histories := map[string]*history.History{}
	for _, s := range hostile {
		h, r := failoverStory()
		for i := range h.Events {
			e := &h.Events[i]
			if e.Client == "client-1" {
				e.Client, e.Owner = s+"c", s+"c/1"
			}
			if e.Kind == history.Note && e.Result != nil {
				e.Result.Message = s
			}
			if e.Fault != nil {
				e.Fault.Detail, e.Fault.Name = s, "failover"
				e.Fault.Targets = append(e.Fault.Targets, s)
			}
			if e.Server != nil {
				e.Server.Command, e.Server.Key = s, s
				if e.Server.Holder == "client-1/1" {
					e.Server.Holder = s
				}
				if e.Server.WasHolder == "client-1/1" {
					e.Server.WasHolder, e.Server.By = s, "client-2"
				}
			}
			if e.Kind == history.End {
				e.End.Keys = []string{s}
			}
		}
		n := len(h.Events) - 1
		for _, server := range []string{s + "n", "node-1"} {
			h.Events = slices.Insert(h.Events, n, history.Event{Time: h.Events[n].Time - 1, Kind: history.Log,
				Log: &history.LogEvent{Server: server, Text: "+switch-master " + s}})
		}
		r.Scenario, r.Lock, r.World, r.AsExpected = s, s, s, false
		v := r.Verdicts[checker.Exclusion]
		v.Class, v.Reason, v.Evidence = s, s, s
		r.Verdicts[checker.Exclusion] = v
		r.Because[checker.Exclusion] = s
		r.HistorySHA256 = s
		histories[s] = h
		failed := r
		failed.Seed, failed.Failure = 2, s+"!\n"+s+"\n"+s
		d.Results.Runs = append(d.Results.Runs, r, failed)
		d.Results.Skipped = append(d.Results.Skipped, results.Skip{Scenario: s, Lock: s + "x", Reason: s})
		d.About = append(d.About, About{Name: s, Title: s, Story: s})
	}
	d.Results.Version, d.Results.Command = hostile[0], hostile[1]
	d.Histories = func(r results.Run) (*history.History, error) {
		if r.Seed == 2 {
			return nil, errors.New(r.Scenario)
		}
		return histories[r.Scenario], nil
	}
	return d
}

func TestHostileHTML(t *testing.T) {
	var b bytes.Buffer
	must.Succeed(t, hostileDocument().HTML(&b))
	checkText(t, b.Bytes())
	allowed := map[string]bool{}
	for _, n := range strings.Fields(`html head meta title style body svg defs pattern linearGradient stop rect path text g p h1 h2 h3 h4 nav a code main header section
		form label select option button output kbd div table thead tbody tr th td b i em strong small br dl dt dd details summary ul ol li time span pre article figure figcaption`) {
		allowed[n] = true
	}
	// Escaped output has "<" only in elements, and quotes only around attributes. Only numbers
	// and single words have none. So these expressions read all of it.
	tag := regexp.MustCompile(`^</?([a-z][a-zA-Z0-9]*)((?:\s+[a-zA-Z:-]+(?:="[^"<>]*"|=[-.a-z0-9]+)?)*)\s*/?>|^<!DOCTYPE html>`)
	attr := regexp.MustCompile(`([a-zA-Z:-]+)(?:="([^"]*)"|=[-.a-z0-9]+)?`)
	page := b.String()
	style := strings.Index(page, "</style>")
	page = page[:strings.Index(page, "<style>")] + page[style+len("</style>"):]
	page = withoutScript(t, page)
	for rest := page; ; {
		at := strings.IndexByte(rest, '<')
		if at < 0 {
			return
		}
		rest = rest[at:]
		m := tag.FindStringSubmatch(rest)
		switch {
		case m == nil:
			t.Fatalf("not one of our elements: %.80s", rest)
		case m[1] != "" && !allowed[m[1]]:
			t.Errorf("an element <%s> got in: %.80s", m[1], rest)
		}
		for _, a := range attr.FindAllStringSubmatch(m[2], -1) {
			if strings.HasPrefix(a[1], "on") || a[1] == "src" || a[1] == "href" && !strings.HasPrefix(a[2], "#") && !fileOfTheRun.MatchString(a[2]) {
				t.Errorf("an attribute %s=%q got in", a[1], a[2])
			}
		}
		rest = rest[len(m[0]):]
	}
}

// fileOfTheRun is a link to a file beside the report.
var fileOfTheRun = regexp.MustCompile(`^(scenarios|histories)/[^:]*$`)

// withoutScript removes the one script of a page, which is Holdfast's to the
// byte.
func withoutScript(t *testing.T, page string) string {
	t.Helper()
	script := Scrubber() + file("script.js")
	ours := "<script>\n" + string(script) + "</script>"
	if strings.Count(page, ours) != 1 {
		t.Fatal("the report does not have its script, once")
	}
	return strings.Replace(page, ours, "", 1)
}

// TestNothingExternal: the report opens offline.
func TestNothingExternal(t *testing.T) {
	var b bytes.Buffer
	must.Succeed(t, sample().HTML(&b))
	page := regexp.MustCompile(`xmlns(:xlink)?="http://www.w3.org/[^"]*"`).ReplaceAllString(withoutScript(t, b.String()), "")
	if m := regexp.MustCompile(`(?i)https?:|//[a-z]|@import|<script|<link|javascript:|url\((?:[^#])`).FindString(page); m != "" {
		t.Errorf("the report refers to %q", m)
	}
}

func TestHostileTextAndMarkdown(t *testing.T) {
	var text, md bytes.Buffer
	d := hostileDocument()
	must.Succeed(t, d.Text(&text))
	checkText(t, text.Bytes())
	d.Results.Runs, d.Results.Skipped = d.Results.Runs[:1], nil
	must.Succeed(t, d.Text(&text))
	checkText(t, text.Bytes())
	must.Succeed(t, hostileDocument().Markdown(&md))
	checkText(t, md.Bytes())
	columns := -1
	for line := range strings.Lines(md.String()) {
		if !strings.HasPrefix(line, "|") {
			columns = -1
			continue
		}
		n := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|")
		if columns >= 0 && n != columns {
			t.Errorf("a row has %d bars, its table %d: %s", n, columns, line)
		}
		columns = n
		outside := regexp.MustCompile("`+[^`]+`+").ReplaceAllString(strings.ReplaceAll(line, "@<!-- -->", "@"), "")
		if strings.Contains(outside, "<") {
			t.Errorf("a tag got in: %s", line)
		}
	}
}

func TestHostileJUnit(t *testing.T) {
	var b bytes.Buffer
	must.Succeed(t, JUnit(&b, hostileDocument().Results))
	checkText(t, b.Bytes())
	dec := xml.NewDecoder(&b)
	for {
		tok, err := dec.Token()
		if err == io.EOF {
			return
		}
		must.Succeed(t, err)
		if e, ok := tok.(xml.StartElement); ok && !strings.Contains(" testsuites testsuite testcase failure error skipped properties property system-out ", " "+e.Name.Local+" ") {
			t.Errorf("an element <%s> got in", e.Name.Local)
		}
	}
}

// checkText requires valid UTF-8 without control characters.
func checkText(t *testing.T, out []byte) {
	t.Helper()
	if !utf8.Valid(out) {
		t.Error("the output is not UTF-8")
	}
	for i, r := range string(out) {
		if r < 0x20 && r != '\n' || r >= 0x7f && r < 0xa0 || r == '\u202e' || r == 0xfffe {
			t.Errorf("a control character %U at %d: %q", r, i, out[max(0, i-40):i])
			return
		}
	}
}

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"plain": "plain", "a\tb\nc": "a b c", "\x1b[31m": "\ufffd[31m", "é🔒": "é🔒", "\xff": "\ufffd", "\u2066x": "\ufffdx",
	} {
		if got := english.Clean(in); got != want {
			t.Errorf("english.Clean(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestReplayIsQuoted(t *testing.T) {
	r := results.Run{Scenario: "it's; rm -rf", Lock: "a", Seed: 7, World: "live"}
	if got, want := Replay(&r), `holdfast run 'it'\''s; rm -rf' --lock a --seed 7 --world live`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
