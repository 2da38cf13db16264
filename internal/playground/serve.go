//go:build !js

package playground

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/internal/suite"
)

// Listen listens on a port of the loopback interface; 0 is any that is free.
func Listen(port int) (net.Listener, error) {
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", fmt.Sprint(port)))
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	return l, nil
}

// Serve serves the playground on the machine itself alone, until ctx ends, and then gives up the runs under way.
// Runs are played on r, so many at a time as atOnce says.
func Serve(ctx context.Context, l net.Listener, r suite.Runner, atOnce int) error {
	h, err := Handler(r, atOnce)
	if err != nil {
		return err
	}
	s := &http.Server{
		Handler: h, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: time.Minute, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	ended := make(chan error, 1)
	go func() {
		<-ctx.Done()
		ended <- s.Shutdown(context.WithoutCancel(ctx))
	}()
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	return <-ended
}

const maxWaiting = 16

// handler is the playground over HTTP.
type handler struct {
	runner suite.Runner
	turns  chan struct{} // has one for each run that may go on
	mu     sync.Mutex
	here   map[string]bool // the visitors whose run goes on, or waits
}

// Handler serves the page, and plays what it asks for. It answers requests whose
// Host is the machine itself, from pages of its own alone.
func Handler(r suite.Runner, atOnce int) (http.Handler, error) {
	files, err := Files(overHTTP)
	if err != nil {
		return nil, err
	}
	h := &handler{runner: r, turns: make(chan struct{}, atOnce), here: map[string]bool{}}
	mux := http.NewServeMux()
	for name, text := range files {
		path := "/" + name
		if name == "index.html" {
			path = "/{$}"
		}
		mux.Handle("GET "+path, asset(name, text))
	}
	mux.HandleFunc("POST /play", h.play)
	return guard(http.NewCrossOriginProtection().Handler(mux)), nil
}

// guard sets the headers of every answer, and refuses a Host that is not this machine. A
// foreign name that leads here would get its scripts past the browser's same-origin
// policy.
func guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range map[string]string{
			"Content-Security-Policy":      policy(overHTTP) + "; frame-ancestors 'none'",
			"X-Content-Type-Options":       "nosniff",
			"X-Frame-Options":              "DENY",
			"Referrer-Policy":              "no-referrer",
			"Cross-Origin-Opener-Policy":   "same-origin",
			"Cross-Origin-Resource-Policy": "same-origin",
			"Cache-Control":                "no-cache",
		} {
			w.Header().Set(name, value)
		}
		if !loopback(r.Host) {
			sendRefusal(w, http.StatusMisdirectedRequest, "the playground answers as localhost and 127.0.0.1 alone")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// loopback says whether the host of a request is this machine, on any port: a
// tunnel has one of its own.
func loopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && ip.IsLoopback()
}

func asset(name string, text []byte) http.Handler {
	kind := map[string]string{"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}[name[strings.LastIndex(name, ".")+1:]]
	sum := sha256.Sum256(text)
	tag := `"` + hex.EncodeToString(sum[:8]) + `"`
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", kind+"; charset=utf-8")
		w.Header().Set("ETag", tag)
		if r.Header.Get("If-None-Match") == tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		w.Write(text)
	})
}

// sendRefusal answers without a run.
func sendRefusal(w http.ResponseWriter, code int, reason string) {
	text, _ := json.Marshal(refusal{Error: reason}) // one text
	respond(w, code, text)
}

func respond(w http.ResponseWriter, code int, text []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	w.Write(text)
}

func (h *handler) play(w http.ResponseWriter, r *http.Request) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		sendRefusal(w, http.StatusUnsupportedMediaType, "the request must be application/json")
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if err != nil {
		sendRefusal(w, http.StatusRequestEntityTooLarge, "the request is too long, or did not arrive")
		return
	}
	who := visitor(r)
	if code, why := h.enter(who); code != 0 {
		sendRefusal(w, code, why)
		return
	}
	defer h.leave(who)
	select {
	case h.turns <- struct{}{}:
		defer func() { <-h.turns }()
	case <-r.Context().Done():
		return
	}
	text, err := Answer(r.Context(), h.runner, body)
	switch {
	case r.Context().Err() != nil: // the visitor is gone
	case errors.As(err, new(*refusedError)):
		respond(w, http.StatusBadRequest, text)
	case err != nil:
		respond(w, http.StatusInternalServerError, text)
	default:
		respond(w, http.StatusOK, text)
	}
}

// visitor is who asks: a tab that gives itself a name, or else a machine.
func visitor(r *http.Request) string {
	if name := r.Header.Get("Playground-Visitor"); name != "" && len(name) <= 64 {
		return "tab " + name
	}
	host, _, _ := net.SplitHostPort(r.RemoteAddr)
	return host
}

// enter lets a visitor in who has no run, while there is room to wait.
func (h *handler) enter(who string) (code int, why string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.here[who]:
		return http.StatusTooManyRequests, "one run at a time: your last one still goes on"
	case len(h.here) >= cap(h.turns)+maxWaiting:
		return http.StatusServiceUnavailable, "too many runs are waiting: try again later"
	}
	h.here[who] = true
	return 0, ""
}

func (h *handler) leave(who string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.here, who)
}
