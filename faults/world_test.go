package faults

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/Shopify/toxiproxy/v2/stream"
	"github.com/Shopify/toxiproxy/v2/toxics"
)

// fakeWorld records the calls of its methods.
type fakeWorld struct {
	mu       sync.Mutex
	calls    []string
	primary  string
	fail     string // calls with this prefix fail
	onCall   func(call string)
	onDetach func()
}

var _ World = (*fakeWorld)(nil)

func newFakeWorld() *fakeWorld { return &fakeWorld{primary: "node-1"} }

func (w *fakeWorld) call(words ...any) error {
	text := strings.TrimSpace(fmt.Sprintln(words...))
	w.mu.Lock()
	w.calls = append(w.calls, text)
	fail := w.fail
	w.mu.Unlock()
	if w.onCall != nil {
		w.onCall(text)
	}
	if fail != "" && strings.HasPrefix(text, fail) {
		return errors.New("refused")
	}
	return nil
}

func (w *fakeWorld) failAt(prefix string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fail = prefix
}

// log returns the calls since the last log.
func (w *fakeWorld) log() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := strings.Join(w.calls, "; ")
	w.calls = nil
	return text
}

func (w *fakeWorld) Pause(c string) error          { return w.call("pause", c) }
func (w *fakeWorld) Resume(c string) error         { return w.call("resume", c) }
func (w *fakeWorld) Crash(c string) error          { return w.call("crash", c) }
func (w *fakeWorld) Cancel(c string, _ bool) error { return w.call("cancel", c) }

func (w *fakeWorld) Attach(l Link, dir stream.Direction, t toxics.Toxic) (func(), error) {
	name := strings.TrimPrefix(fmt.Sprintf("%T", t), "*toxics.")
	if err := w.call("attach", name, l.From, l.To, dir); err != nil {
		return nil, err
	}
	return func() {
		_ = w.call("detach", name, l.From, l.To, dir)
		if w.onDetach != nil {
			w.onDetach()
		}
	}, nil
}

func (w *fakeWorld) Reset(l Link) error                     { return w.call("reset", l.From, l.To) }
func (w *fakeWorld) WithholdRequest(l Link) (func(), error) { return w.undone("hold", "release", l) }
func (w *fakeWorld) Refuse(l Link) (func(), error)          { return w.undone("refuse", "allow", l) }
func (w *fakeWorld) HalfOpen(l Link, gone string) (func(), error) {
	return w.undone("half-open "+gone, "tell", l)
}

func (w *fakeWorld) undone(what, undo string, l Link) (func(), error) {
	if err := w.call(what, l.From, l.To); err != nil {
		return nil, err
	}
	return func() { _ = w.call(undo, l.From, l.To) }, nil
}

func (w *fakeWorld) StopNode(n string) error             { return w.call("stop", n) }
func (w *fakeWorld) StartNode(n string, keep bool) error { return w.call("start", n, keep) }
func (w *fakeWorld) Follow(n string) error               { return w.call("follow", n) }
func (w *fakeWorld) FlushScripts(n string) error         { return w.call("flush", n) }
func (w *fakeWorld) DeleteLock(n string) error           { return w.call("delete", n) }
func (w *fakeWorld) Promote(n string) error {
	if err := w.call("promote", n); err != nil {
		return err
	}
	w.primary = n
	return nil
}

func (w *fakeWorld) Deny(n string, commands []string) (func() error, error) {
	return func() error { return w.call("allow", n) }, w.call("deny", n, commands)
}

func (w *fakeWorld) FillMemory(n string) (func() error, error) {
	return func() error { return w.call("free", n) }, w.call("fill", n)
}

func (w *fakeWorld) MoveSlots(from, to string, keysFirst bool) (func() error, error) {
	return func() error { return w.call("own", to) }, w.call("move", from, to, keysFirst)
}

func (w *fakeWorld) Condemn(string)        {}
func (w *fakeWorld) Prefer(n string) error { return w.call("prefer", n) }

func (w *fakeWorld) HandOver(n string) error {
	if err := w.call("hand over", n); err != nil {
		return err
	}
	w.primary = n
	return nil
}

func (w *fakeWorld) Primary(group int) string {
	if group == 1 {
		return w.primary
	}
	return fmt.Sprintf("node-%d", group)
}

func (w *fakeWorld) SetClock(n string, jump time.Duration, rate float64) error {
	return w.call("clock", n, jump, rate)
}
