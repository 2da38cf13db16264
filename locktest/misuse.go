package locktest

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/internal/goroutines"
	"github.com/holdfast-go/holdfast/internal/play"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// misuse is the first mistake in the description of a lock that only a run shows.
type misuse struct {
	mu  sync.Mutex
	why string
}

func (m *misuse) note(why string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.why == "" {
		m.why = why
	}
}

// take returns the mistake, and forgets it; "" for none.
func (m *misuse) take() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	why := m.why
	m.why = ""
	return why
}

const hint = "return &locktest.Funcs{Acquire: m.Lock, Release: m.Unlock}"

// unusable says in a sentence why a view of a lock cannot be played, "" when it can.
func (l *Lock) unusable(v lock.Locker) string {
	f, ok := v.(*Funcs)
	if v == nil || ok && f == nil {
		return "New, or Session.Locker, returned nil in the place of a lock: " + hint
	}
	if !ok {
		return ""
	}
	for _, needs := range []struct {
		name string
		set  bool
		by   bool
	}{
		{"Acquire", f.Acquire != nil, true}, {"Release", f.Release != nil, true},
		{"Token, because of Claims.Fencing", f.Token != nil, l.Claims.Fencing},
		{"LostSign, because of Claims.LostSign", f.LostSign != nil, l.Claims.LostSign},
		{"Extend, because of Claims.Extends", f.Extend != nil, l.Claims.Extends},
		{"AcquireFor, because of Claims.Explicit", f.AcquireFor != nil, l.Claims.Explicit},
	} {
		if needs.by && !needs.set {
			example := hint
			if field, _, more := strings.Cut(needs.name, ","); more {
				example = strings.TrimSuffix(hint, "}") + fmt.Sprintf(", %s: m.%s}", field, field)
			}
			return fmt.Sprintf("locktest.Funcs needs %s: %s", needs.name, example)
		}
	}
	return ""
}

// make makes one owner's view of the lock. Where that cannot be played, it notes
// why, and all that it returns is errors.
func (s session) make(name, thread string) (l lock.Locker) {
	if s.lock.misuse == nil {
		return s.of.Locker(name, s.owner(thread))
	}
	defer func() {
		if p := recover(); p != nil {
			s.lock.misuse.note(fmt.Sprintf("New, or Session.Locker, panicked: %v\n%s", p, ownFrames(goroutines.Plain(string(debug.Stack())))))
			l = unusable{}
		}
	}()
	l = s.of.Locker(name, s.owner(thread))
	if why := s.lock.unusable(l); why != "" {
		s.lock.misuse.note(why)
		return unusable{}
	}
	return l
}

// unusable is a lock that cannot be played.
type unusable struct{}

var errUnusable = errors.New("the lock cannot be played")

func (unusable) Lock(context.Context, ...lock.AcquireOption) (lock.Grant, error) {
	return lock.Grant{}, errUnusable
}

func (unusable) TryLock(context.Context, ...lock.AcquireOption) (lock.Grant, error) {
	return lock.Grant{}, errUnusable
}

func (unusable) Unlock(context.Context) (int, error) { return 0, errUnusable }

// ownFrames are the frames of a panic's stack that are not Go's or the harness's.
func ownFrames(stack string) string {
	lines := strings.Split(strings.TrimRight(stack, "\n"), "\n")
	for i, l := range lines { // the code above it printed the stack
		if strings.HasPrefix(l, "panic") && i+2 < len(lines) {
			lines = lines[i+2:]
			break
		}
	}
	for i, l := range lines {
		harness := strings.HasPrefix(l, "github.com/holdfast-go/holdfast/internal/play.") || strings.Contains(l, "locktest.(*Funcs)") ||
			strings.Contains(l, "locktest.(*classified)") || strings.Contains(l, "locktest.session.") || strings.Contains(l, "locktest.fresh.")
		if harness && i > 0 {
			lines = lines[:i]
			break
		}
	}
	return strings.Join(lines, "\n")
}

// panicked is where the lock panicked in a run, with what it said; "" where it did not.
func panicked(h *history.History) string {
	for _, e := range h.Events {
		if e.F == history.Panic && e.Result != nil {
			said, stack, _ := strings.Cut(e.Result.Message, "\ngoroutine ")
			return fmt.Sprintf("panic: %s\n%s\n", said, ownFrames(stack))
		}
	}
	return ""
}

// mostKeys is the largest number of keys that are named.
const mostKeys = 5

// wrongKey says that a lock lives under other keys than it declares, "" where
// nothing speaks for that.
func wrongKey(tested *locks.Lock, names []string, p *play.Played) string {
	granted := slices.ContainsFunc(p.History.Events, func(e history.Event) bool { return e.Kind == history.OK && e.F == history.Acquire })
	if len(p.Elsewhere) == 0 || !granted || tested.Holder() == locks.HolderNone {
		return ""
	}
	var wrote []string
	like := ""
	for _, key := range p.Elsewhere {
		if len(wrote) < mostKeys {
			wrote = append(wrote, fmt.Sprintf("%q", key))
		}
		for _, name := range names {
			if like == "" && strings.Contains(key, name) {
				like = fmt.Sprintf(", such as Key: %q", strings.ReplaceAll(key, name, "{name}"))
			}
		}
	}
	return fmt.Sprintf("Lock.Key does not match: it says that the lock %q is the key %q, which the lock never wrote. It wrote %s. Say which of them is the lock, with {name} for its name%s",
		names[0], tested.Key(names[0]), english.And(wrote), like)
}
