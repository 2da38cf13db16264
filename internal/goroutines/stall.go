package goroutines

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Detector detects a run in virtual time that does not end. Virtual time passes only
// when all goroutines of the run wait, but not while one waits for a mutex. A lock
// that spins stops it, and so does one that holds a mutex across a wait for the
// network.
type Detector struct {
	// Most is the processor time of this process after which a run is given up; 0 for
	// no bound. It is real time while the process uses no processor, and where the
	// system does not measure that. Other work on the machine does not count.
	Most time.Duration
}

const (
	lookEvery = 100 * time.Millisecond // in real time
	// quietLooks is the number of looks in a row that find no use of the processor before
	// the detector looks at the goroutines. A busy machine delays the looks, too.
	quietLooks = 10
	// quiet is the processor time that a look itself may use.
	quiet = lookEvery / 50
)

// Watch calls run, which plays in virtual time, and returns nil at its end. It
// leaves a run behind that does not end, because nothing ends goroutines from
// outside.
func (d Detector) Watch(run func()) *Stall {
	done := make(chan struct{})
	go func() {
		defer close(done)
		run()
	}()
	began := time.Now()
	start, unmeasured := processorTime()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for used, still := start, 0; ; {
		select {
		case <-done:
			return nil
		case <-look.C:
		}
		now, _ := processorTime()
		idle := unmeasured != nil || now-used < quiet
		used = now
		if still++; !idle {
			still = 0
		}
		if still >= quietLooks {
			still = 0
			if s := newStall(All(), d.Most); s.standsStill() {
				return s
			}
		}
		if d.Most > 0 && (now-start > d.Most || idle && time.Since(began) > d.Most) {
			return newStall(All(), d.Most)
		}
	}
}

// Kind is a way in which a run does not end.
type Kind string

// The kinds of stalls. The empty one is that of a run that ends.
const (
	// Endless runs spin without a wait, or do not end for an unknown reason.
	Endless Kind = "endless"
	// Deadlocked runs wait for a mutex that is held across a wait for the network.
	Deadlocked Kind = "deadlocked"
	// ClientDeadlocked runs wait for a mutex of go-redis that go-redis holds across a
	// wait for the network. They say nothing about the lock.
	ClientDeadlocked Kind = "client deadlocked"
)

// ErrOfClient is a stall of go-redis alone.
var ErrOfClient = errors.New("go-redis holds a mutex of its own while it waits for the network, and stalls")

// Stall is a run that did not end. As an error it names the goroutines to blame.
type Stall struct {
	most    time.Duration
	waiting []Goroutine // for a mutex, or they run
	holding []Goroutine // they wait for the network, perhaps with the mutex
}

// ofNetwork are the calls in which a goroutine waits for the network.
var ofNetwork = []string{"holdfast/sim.(*pipe).wait", "holdfast/sim.(*World).dial", "go-redis/v9/internal/pool.(*ConnPool)."}

// newStall finds in the newest bubble who stands still. Bubbles count upwards, and
// older ones are runs that were left behind.
func newStall(all []Goroutine, most time.Duration) *Stall {
	newest := 0
	for _, g := range all {
		newest = max(newest, g.Bubble)
	}
	s := &Stall{most: most}
	for _, g := range all {
		switch {
		case newest == 0 || g.Bubble != newest:
		case !g.Durable:
			s.waiting = append(s.waiting, g)
		case g.callsAny(ofNetwork) && !strings.Contains(g.Stack, "created by github.com/holdfast-go/holdfast/sim."):
			s.holding = append(s.holding, g)
		}
	}
	return s
}

// acrossNetwork are the parts of go-redis that hold a mutex while they wait for the
// network. They are a subscription that connects again, and the table of a cluster's
// commands.
var acrossNetwork = []string{"go-redis/v9.(*PubSub).", "go-redis/v9.(*cmdsInfoCache)."}

func (g Goroutine) callsAny(functions []string) bool {
	return slices.ContainsFunc(functions, func(f string) bool { return strings.Contains(g.Stack, f) })
}

// standsStill reports whether all that does not wait for virtual time waits for a
// mutex. Then nothing in the run goes on.
func (s *Stall) standsStill() bool {
	return len(s.waiting) > 0 && !slices.ContainsFunc(s.waiting, func(g Goroutine) bool { return !g.Mutex })
}

// Kind is the way in which the run does not end.
func (s *Stall) Kind() Kind {
	switch {
	case slices.ContainsFunc(s.waiting, func(g Goroutine) bool { return g.callsAny(acrossNetwork) }):
		return ClientDeadlocked
	case s.standsStill():
		return Deadlocked
	}
	return Endless
}

// Unwrap returns [ErrOfClient] if a goroutine waits for a mutex of go-redis.
func (s *Stall) Unwrap() error {
	if s.Kind() == ClientDeadlocked {
		return ErrOfClient
	}
	return nil
}

func (s *Stall) Error() string {
	var b strings.Builder
	b.WriteString(s.what())
	for _, g := range s.waiting {
		fmt.Fprintf(&b, "\n\nwaits for a mutex, or runs:\n%s", g.Plain())
	}
	for _, g := range s.holding {
		fmt.Fprintf(&b, "\n\nwaits for the network, and may hold the mutex:\n%s", g.Plain())
	}
	return b.String()
}

func (s *Stall) what() string {
	if !s.standsStill() {
		return fmt.Sprintf("the run did not end within %v: the lock spins without waiting, or holds a mutex while it waits for the network", s.most)
	}
	return "the run stands still: a mutex is held across a wait for the network, and virtual time does not pass while somebody waits for a mutex"
}

// Short is the error with the calls of one goroutine that waits for a mutex, and of one
// that may hold it.
func (s *Stall) Short() string {
	var b strings.Builder
	b.WriteString(s.what())
	if len(s.waiting) > 0 {
		fmt.Fprintf(&b, "\n%s for a mutex, or runs:\n\t%s", waits(s.waiting), strings.Join(s.waiting[0].ownCalls(), "\n\t"))
	}
	if len(s.holding) > 0 {
		fmt.Fprintf(&b, "\n%s for the network, and may hold the mutex:\n\t%s", waits(s.holding), strings.Join(s.holder().ownCalls(), "\n\t"))
	}
	return b.String()
}

// waits says that the first of some goroutines waits.
func waits(all []Goroutine) string {
	if len(all) == 1 {
		return "a goroutine waits"
	}
	return fmt.Sprintf("the first of %d goroutines waits", len(all))
}

// holder is the goroutine that most likely holds the mutex: one of go-redis only if the
// mutex is that of go-redis.
func (s *Stall) holder() Goroutine {
	ofClient := s.Kind() == ClientDeadlocked
	for _, g := range s.holding {
		_, by, _ := strings.Cut(g.Stack, "created by ")
		if ofClient && g.callsAny(acrossNetwork) || !ofClient && !strings.Contains(by, "redis/go-redis") {
			return g
		}
	}
	return s.holding[0]
}

// ofHarness are the parts of holdfast whose calls are not those of a lock.
var ofHarness = []string{"sim.", "internal/play", "scenarios/locks.", "locktest.(*"}

// ownCalls are the calls of a goroutine with their lines, without those of the harness,
// of the runtime and of the inside of go-redis.
func (g Goroutine) ownCalls() []string {
	lines := strings.Split(g.Plain(), "\n")[1:]
	var all []string
	for i := 0; i+1 < len(lines) && !strings.HasPrefix(lines[i], "created by "); i += 2 {
		part, ours := strings.CutPrefix(lines[i], "github.com/holdfast-go/holdfast/")
		ours = ours && slices.ContainsFunc(ofHarness, func(p string) bool { return strings.HasPrefix(part, p) })
		runtime := slices.ContainsFunc([]string{"internal/", "runtime.", "sync."}, func(p string) bool { return strings.HasPrefix(lines[i], p) })
		inside := slices.ContainsFunc([]string{"go-redis/v9/internal/", "v9.(*baseClient).", "v9.(*hooksMixin)."}, func(p string) bool { return strings.Contains(lines[i], p) })
		if !ours && !runtime && !inside {
			all = append(all, lines[i]+" "+strings.TrimSpace(lines[i+1]))
		}
	}
	return all
}
