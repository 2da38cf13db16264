package playground

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/internal/suite"
)

const body = `{"scenario":"failover-lost-write","lock":"reentrant","seed":1}`

// request asks as the page does; change makes it another one.
func request(url string, change func(*http.Request)) *http.Request {
	r, err := http.NewRequest("POST", url+"/play", strings.NewReader(body))
	if err != nil {
		panic(err) // the address is ours
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Playground-Visitor", "one")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	if change != nil {
		change(r)
	}
	return r
}

func do(t *testing.T, r *http.Request) (code int, header http.Header, text string) {
	t.Helper()
	answer, err := http.DefaultClient.Do(r)
	must.Succeed(t, err)
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	must.Succeed(t, err)
	return answer.StatusCode, answer.Header, string(b)
}

func start(t *testing.T, r suite.Runner, atOnce int) (url string) {
	t.Helper()
	h, err := Handler(r, atOnce)
	must.Succeed(t, err)
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

func TestOnlyPagesOfOursAreAnswered(t *testing.T) {
	url := start(t, suite.Here{}, 1)
	for name, x := range map[string]struct {
		change func(*http.Request)
		want   int
	}{
		"the page":           {nil, 200},
		"a name for it":      {func(r *http.Request) { r.Host = "localhost:7070" }, 200},
		"a tunnel":           {func(r *http.Request) { r.Host = "[::1]:9999" }, 200},
		"DNS rebinding":      {func(r *http.Request) { r.Host = "evil.example:7070" }, 421},
		"a name like ours":   {func(r *http.Request) { r.Host = "localhost.evil.example" }, 421},
		"an address like it": {func(r *http.Request) { r.Host = "127.0.0.1.nip.io" }, 421},
		"another machine":    {func(r *http.Request) { r.Host = "192.0.2.1:7070" }, 421},
		"another site":       {func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }, 403},
		"an old browser":     {func(r *http.Request) { r.Header.Del("Sec-Fetch-Site"); r.Header.Set("Origin", "http://evil.example") }, 403},
		"a form":             {func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }, 415},
		"much": {func(r *http.Request) {
			r.Body, r.ContentLength = io.NopCloser(strings.NewReader(strings.Repeat(" ", 1<<20))), 1<<20
		}, 413},
		"garbage":        {func(r *http.Request) { r.Body, r.ContentLength = io.NopCloser(strings.NewReader("<b>")), 3 }, 400},
		"another method": {func(r *http.Request) { r.Method = "PUT" }, 405},
		"another path":   {func(r *http.Request) { r.Method, r.URL.Path = "GET", "/../../etc/passwd" }, 404},
	} {
		code, header, text := do(t, request(url, x.change))
		if code != x.want {
			t.Errorf("%s: status %d, want %d: %.200s", name, code, x.want, text)
		}
		if header.Get("X-Content-Type-Options") != "nosniff" || !strings.Contains(header.Get("Content-Security-Policy"), "default-src 'none'") || strings.Contains(header.Get("Content-Security-Policy"), "unsafe") {
			t.Errorf("%s: headers %v", name, header)
		}
		if kind := header.Get("Content-Type"); strings.Contains(kind, "html") {
			t.Errorf("%s: an answer of type %s", name, kind)
		}
	}
	code, header, text := do(t, request(url, func(r *http.Request) { r.Method, r.URL.Path, r.Body, r.ContentLength = "GET", "/", nil, 0 }))
	if code != 200 || !strings.HasPrefix(header.Get("Content-Type"), "text/html") || !strings.Contains(text, `data-play="http"`) {
		t.Errorf("the page: status %d, %v", code, header)
	}
}

// waits plays nothing until the test lets it go on.
type waits struct{ began, goOn chan struct{} }

func (w waits) Play(ctx context.Context, _ []suite.Job, got func(suite.Answer)) error {
	w.began <- struct{}{}
	select {
	case <-w.goOn:
	case <-ctx.Done():
		return nil
	}
	got(suite.Answer{Out: json.RawMessage(`{}`)})
	return nil
}

// A visitor has one run at a time, and all of them so many as there are turns.
func TestOneRunAtATime(t *testing.T) {
	w := waits{make(chan struct{}), make(chan struct{})}
	url := start(t, w, 1)
	codes := make(chan int)
	as := func(name string) {
		code, _, _ := do(t, request(url, func(r *http.Request) { r.Header.Set("Playground-Visitor", name) }))
		codes <- code
	}
	go as("one")
	<-w.began
	if code, _, text := do(t, request(url, nil)); code != http.StatusTooManyRequests || !strings.Contains(text, "one run at a time") {
		t.Errorf("a second run of a visitor: status %d, %s", code, text)
	}
	go as("two") // waits
	w.goOn <- struct{}{}
	if code := <-codes; code != 200 {
		t.Errorf("the first run: status %d", code)
	}
	<-w.began // the other
	w.goOn <- struct{}{}
	if code := <-codes; code != 200 {
		t.Errorf("the run of another visitor: status %d", code)
	}
	go as("one")
	<-w.began
	w.goOn <- struct{}{}
	if code := <-codes; code != 200 {
		t.Errorf("the next run of a visitor: status %d", code)
	}
}

func TestTooManyWait(t *testing.T) {
	h := &handler{turns: make(chan struct{}, 2), here: map[string]bool{}}
	for i := range 2 + maxWaiting {
		if code, why := h.enter(string(rune('a' + i))); code != 0 {
			t.Fatal(i, code, why)
		}
	}
	if code, _ := h.enter("one more"); code != http.StatusServiceUnavailable {
		t.Errorf("status %d", code)
	}
	h.leave("a")
	if code, _ := h.enter("one more"); code != 0 {
		t.Errorf("status %d, and there is room", code)
	}
}

// A visitor that leaves the page gives the turn to the next, and the end of the context
// ends the server.
func TestTheServerEnds(t *testing.T) {
	l, err := Listen(0)
	must.Succeed(t, err)
	if _, err := Listen(l.Addr().(*net.TCPAddr).Port); err == nil {
		t.Error("two servers listen on one port")
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	w := waits{make(chan struct{}), make(chan struct{})}
	go func() { ended <- Serve(ctx, l, w, 1) }()
	url := "http://" + l.Addr().String()

	left, leave := context.WithCancel(t.Context())
	go http.DefaultClient.Do(request(url, nil).WithContext(left))
	<-w.began
	leave()
	go func() {
		if answer, err := http.DefaultClient.Do(request(url, func(r *http.Request) { r.Header.Set("Playground-Visitor", "two") })); err == nil {
			answer.Body.Close()
		}
	}()
	<-w.began
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
