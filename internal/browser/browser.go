// Package browser opens pages in a headless Chromium, for tests. It speaks the
// DevTools protocol over a pipe, one request at a time.
package browser

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// Require is the environment variable that turns a missing browser into a failure
// instead of a skip.
const Require = "HOLDFAST_REQUIRE_BROWSER"

// limit is the time for which one browser may run.
const limit = 5 * time.Minute

type Browser struct {
	t    testing.TB
	in   *os.File
	out  *bufio.Reader
	last int
	seen []message // events without a request
}

type message struct {
	ID      int             `json:"id,omitempty"`
	Session string          `json:"sessionId,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  any             `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *struct {
		Message string `json:"message"`
	} `json:"error,omitempty"`
}

// Start starts a Chromium that ends with the test. Without one on the PATH it
// skips the test, or fails if [Require] is set.
func Start(t testing.TB) *Browser {
	t.Helper()
	exe := find(t)
	theirs, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, answers, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(context.Background(), limit)
	dir, err := os.MkdirTemp("", "browser")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, exe, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-dev-shm-usage",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--remote-debugging-pipe", "--user-data-dir="+dir)
	cmd.ExtraFiles = []*os.File{theirs, answers}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	answers.Close()
	t.Cleanup(func() {
		in.Close() // which ends it
		cmd.Wait()
		stop()
		out.Close()
		os.RemoveAll(dir)
	})
	return &Browser{t: t, in: in, out: bufio.NewReader(out)}
}

func find(t testing.TB) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if os.Getenv(Require) != "" {
		t.Fatal("no Chromium on the PATH")
	}
	t.Skip("no Chromium on the PATH: the pages are not looked at in a browser; make setup installs one")
	return ""
}

// do sends a request and decodes its result; result may be nil.
func (b *Browser) do(session, method string, params map[string]any, result any) {
	b.t.Helper()
	b.last++
	data, err := json.Marshal(message{ID: b.last, Session: session, Method: method, Params: params})
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.in.Write(append(data, 0)); err != nil {
		b.t.Fatalf("%s: %v", method, err)
	}
	for {
		m := b.next(method)
		if m.ID != b.last {
			continue
		}
		if m.Error != nil {
			b.t.Fatalf("%s: %s", method, m.Error.Message)
		}
		if result != nil {
			if err := json.Unmarshal(m.Result, result); err != nil {
				b.t.Fatalf("%s: %v", method, err)
			}
		}
		return
	}
}

// next reads a message, and keeps an event.
func (b *Browser) next(waiting string) message {
	b.t.Helper()
	data, err := b.out.ReadBytes(0)
	if err != nil {
		b.t.Fatalf("%s: the browser has ended: %v", waiting, err)
	}
	var m message
	if err := json.Unmarshal(bytes.TrimSuffix(data, []byte{0}), &m); err != nil {
		b.t.Fatalf("%s: %v", waiting, err)
	}
	if m.ID == 0 {
		b.seen = append(b.seen, m)
	}
	return m
}

// View is the view of a test on a page.
type View struct {
	Width int // in CSS pixels
	Dark  bool
	Paper bool // in its printed form
}

// String implements [fmt.Stringer].
func (v View) String() string {
	if v.Dark {
		return fmt.Sprintf("%d-dark", v.Width)
	}
	return fmt.Sprintf("%d-light", v.Width)
}

// Views are the widths of a desk, a tablet and a phone, light and dark.
func Views() []View {
	var all []View
	for _, w := range []int{1400, 800, 400} {
		all = append(all, View{Width: w}, View{Width: w, Dark: true})
	}
	return all
}

type Page struct {
	b       *Browser
	session string
}

// Open shows a file, or the page of an address that begins with http://. It
// returns when the page has loaded.
func (b *Browser) Open(what string, v View) *Page {
	b.t.Helper()
	if !strings.HasPrefix(what, "http://") {
		path, err := filepath.Abs(what)
		if err != nil {
			b.t.Fatal(err)
		}
		what = "file://" + path
	}
	var target struct{ TargetID string }
	b.do("", "Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	b.do("", "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	p := &Page{b, attached.SessionID}
	for _, domain := range []string{"Page", "Runtime", "Log"} {
		p.do(domain+".enable", nil, nil)
	}
	p.do("Emulation.setDeviceMetricsOverride", map[string]any{"width": v.Width, "height": 1000, "deviceScaleFactor": 1, "mobile": false}, nil)
	scheme := "light"
	if v.Dark {
		scheme = "dark"
	}
	media := ""
	if v.Paper {
		media = "print"
	}
	p.do("Emulation.setEmulatedMedia", map[string]any{"media": media, "features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}}, nil)
	p.do("Page.navigate", map[string]any{"url": what}, nil)
	for !p.loaded() {
		b.next("Page.loadEventFired")
	}
	return p
}

func (p *Page) do(method string, params map[string]any, result any) {
	p.b.t.Helper()
	p.b.do(p.session, method, params, result)
}

func (p *Page) loaded() bool {
	return slices.ContainsFunc(p.b.seen, func(m message) bool { return m.Session == p.session && m.Method == "Page.loadEventFired" })
}

// Eval evaluates an expression in the page, awaits a promise, and decodes the
// value into result.
func (p *Page) Eval(expression string, result any) {
	p.b.t.Helper()
	var r struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails *struct {
			Text      string
			Exception struct{ Description string }
		}
	}
	p.do("Runtime.evaluate", map[string]any{"expression": expression, "awaitPromise": true, "returnByValue": true}, &r)
	if x := r.ExceptionDetails; x != nil {
		p.b.t.Fatalf("evaluate: %s %s", x.Text, x.Exception.Description)
	}
	if result != nil {
		if err := json.Unmarshal(r.Result.Value, result); err != nil {
			p.b.t.Fatalf("evaluate: %v", err)
		}
	}
}

// Press presses and releases a key: a character, or a key with a name such as
// Tab.
func (p *Page) Press(key string) {
	p.b.t.Helper()
	codes := map[string]int{"Tab": 9, "Enter": 13, "ArrowRight": 39, "ArrowDown": 40}
	down := map[string]any{"type": "keyDown", "key": key, "code": key, "windowsVirtualKeyCode": codes[key]}
	switch {
	case len(key) == 1:
		down["text"] = key
	case key == "Enter":
		down["text"] = "\r"
	}
	p.do("Input.dispatchKeyEvent", down, nil)
	p.do("Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": key, "code": key, "windowsVirtualKeyCode": codes[key]}, nil)
}

// Errors are the errors on the page's console, including exceptions.
func (p *Page) Errors() []string {
	var all []string
	for _, m := range p.b.seen {
		if m.Session != p.session {
			continue
		}
		params, err := json.Marshal(m.Params)
		if err != nil {
			p.b.t.Fatal(err)
		}
		bad := m.Method == "Runtime.exceptionThrown" ||
			m.Method == "Runtime.consoleAPICalled" && bytes.Contains(params, []byte(`"type":"error"`)) ||
			m.Method == "Log.entryAdded" && bytes.Contains(params, []byte(`"level":"error"`))
		if bad {
			all = append(all, string(params))
		}
	}
	return all
}

// Sheets prints the page to PDF according to its style sheet, and counts the
// sheets. It writes the PDF to the file keep, unless that is empty.
func (p *Page) Sheets(keep string) int {
	p.b.t.Helper()
	var r struct{ Data []byte }
	p.do("Page.printToPDF", map[string]any{"preferCSSPageSize": true, "printBackground": true}, &r)
	if keep != "" {
		if err := os.WriteFile(keep, r.Data, 0o644); err != nil {
			p.b.t.Fatal(err)
		}
	}
	return bytes.Count(r.Data, []byte("/Type /Page\n"))
}

func (p *Page) Close() { p.do("Page.close", nil, nil) }
