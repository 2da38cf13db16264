package locktest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/internal/goroutines"
	"github.com/holdfast-go/holdfast/internal/play"
	"github.com/holdfast-go/holdfast/internal/story"
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
	m.why = cmp.Or(m.why, why)
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
	if !ok && (l.Claims.ReadWrite || l.Claims.Weighted || l.Claims.Observes) {
		return "New, or Session.Locker, must return a *locktest.Funcs, because of Claims.ReadWrite, Claims.Weighted or Claims.Observes"
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
		{"Holder, because of Claims.Observes", f.Holder != nil, l.Claims.Observes},
		{"AcquireFor, because of Claims.Explicit", f.AcquireFor != nil, l.Claims.Explicit},
		{"AcquireShared, because of Claims.ReadWrite", f.AcquireShared != nil, l.Claims.ReadWrite},
		{"ReleaseShared, because of Claims.ReadWrite", f.ReleaseShared != nil, l.Claims.ReadWrite},
		{"AcquireSharedFor, because of Claims.ReadWrite and Claims.Explicit", f.AcquireSharedFor != nil, l.Claims.ReadWrite && l.Claims.Explicit},
		{"AcquirePermits, because of Claims.Weighted", f.AcquirePermits != nil, l.Claims.Weighted},
		{"ReleasePermits, because of Claims.Weighted", f.ReleasePermits != nil, l.Claims.Weighted},
		{"AcquirePermitsFor, because of Claims.Weighted and Claims.Explicit", f.AcquirePermitsFor != nil, l.Claims.Weighted && l.Claims.Explicit},
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
		return s.of.Locker(name, s.OwnerName(thread))
	}
	defer func() {
		if p := recover(); p != nil {
			s.lock.misuse.note(fmt.Sprintf("New, or Session.Locker, panicked: %v\n%s", p, ownFrames(goroutines.Plain(string(debug.Stack())))))
			l = unusable{}
		}
	}()
	l = s.of.Locker(name, s.OwnerName(thread))
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
			return fmt.Sprintf("panic: %s\n%s\n", e.Result.Message, ownFrames(e.Result.Stack))
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
	if len(p.Elsewhere) == 0 || !granted || tested.Holder() == locks.HolderNone && tested.Holders == nil {
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

// wrongHolders says that Holders does not name the owner of a grant, or names it after
// its release, in a run without faults. It is "" if nothing speaks for that. A lock that
// grants a hold of somebody else is no mistake of the function. With faults, it looks at
// permits and modes alone.
func wrongHolders(tested *locks.Lock, h *history.History) string {
	if why := unshared(h); why != "" || len(h.Header.Faults) > 0 {
		return cmp.Or(why, uncounted(h))
	}
	on := map[string]map[string][]string{} // by lock, the holders on each primary
	held := map[string]map[string]int{}    // by lock, the holds of each owner
	for _, e := range h.Events {
		if s := e.Server; s != nil && s.Role == "primary" {
			put(on, e.Lock, s.Node, story.HoldersAfter(tested.Claims, on[e.Lock][s.Node], s))
		}
		if e.Kind != history.OK || e.F != history.Acquire && e.F != history.Release {
			continue
		}
		names := 0
		for _, holders := range on[e.Lock] {
			if slices.Contains(holders, e.Owner) {
				names++
			}
		}
		owns := held[e.Lock][e.Owner]
		if e.F == history.Acquire {
			put(held, e.Lock, e.Owner, owns+1)
		} else if owns == 1 {
			delete(held[e.Lock], e.Owner)
		}
		switch {
		case e.F == history.Acquire && len(held[e.Lock]) == 1 && names < tested.Quorum():
			return fmt.Sprintf("Lock.Holders does not match, or the lock is wrong: at %.3f s the lock %.60q is granted to %s, and on %d of %d servers Holders names that owner, without any fault. Holders sees %s",
				time.Duration(e.Time).Seconds(), e.Lock, e.Owner, names, tested.Groups, seen(on[e.Lock]))
		case e.F == history.Release && owns == 1 && names >= tested.Quorum():
			return fmt.Sprintf("Lock.Holders does not match, or the lock is wrong: at %.3f s %s has released the lock %.60q, and Holders still names that owner, without any fault",
				time.Duration(e.Time).Seconds(), e.Owner, e.Lock)
		}
	}
	return ""
}

// uncounted says that Holders counts one permit at most, although an owner got several. It
// is "" otherwise.
func uncounted(h *history.History) (why string) {
	asked := map[int64]int{} // by operation, its permits
	for _, e := range h.Events {
		switch n := asked[e.Op]; {
		case e.Server != nil && e.Server.Count > 1:
			return ""
		case e.Kind == history.Invoke && e.Args != nil:
			asked[e.Op] = e.Args.Permits
		case e.Kind == history.OK && e.F == history.Acquire && n > 1 && why == "":
			why = fmt.Sprintf("Lock.Holders does not match, or the lock is wrong: at %.3f s the lock %.60q is granted to %s with %d permits, and Holders counts one for each owner throughout. Set Hold.Count",
				time.Duration(e.Time).Seconds(), e.Lock, e.Owner, n)
		}
	}
	return why
}

// unshared says that Holders never names an owner in the other mode, in which it was granted
// the lock as well. It is "" otherwise.
func unshared(h *history.History) string {
	names, selves := map[string]bool{}, map[int64]string{}
	for _, e := range h.Events {
		switch {
		case e.Server != nil:
			names[e.Server.Holder] = true
		case e.Kind == history.Invoke && e.Args != nil && e.Args.Self != "":
			selves[e.Op] = e.Args.Self
		case e.Kind == history.OK && selves[e.Op] != "" && names[selves[e.Op]] != names[e.Owner]:
			return fmt.Sprintf("Lock.Holders does not match, or the lock is wrong: at %.3f s the lock %.60q is granted to an owner as a reader and as a writer, and Holders has one hold of it. Set Hold.Shared of the hold of a reader",
				time.Duration(e.Time).Seconds(), e.Lock)
		}
	}
	return ""
}

// wrongToClients reports whether what clients saw alone proves a lock wrong, whatever
// Holders names.
func wrongToClients(verdicts map[checker.Property]checker.Verdict) bool {
	return anyVerdict(verdicts, func(v checker.Verdict) bool { return v.Outcome == checker.Violated && v.Evidence == "" })
}

// put sets an entry of a map of maps.
func put[V any](all map[string]map[string]V, key, inner string, v V) {
	if all[key] == nil {
		all[key] = map[string]V{}
	}
	all[key][inner] = v
}

// seen are the holders on servers, in words.
func seen(on map[string][]string) string {
	var all []string
	for _, node := range slices.Sorted(maps.Keys(on)) {
		for _, holder := range on[node] {
			all = append(all, fmt.Sprintf("%q on %s", holder, node))
		}
	}
	if len(all) == 0 {
		return "nobody"
	}
	return english.And(all)
}
