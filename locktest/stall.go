package locktest

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/internal/play"
	"github.com/holdfast-go/holdfast/internal/processor"
	"github.com/holdfast-go/holdfast/internal/stacks"
)

// stall is the processor time of this process after which a run is given up. It is real
// time if the process no longer uses its processor, or if the system does not measure
// that. Simulated time passes only when all goroutines wait, so a run that takes longer
// never ends. Other work on the machine does not count.
var stall = time.Minute

// stallError says that a run did not end in time. The run stays behind: nothing ends
// goroutines from outside.
type stallError struct {
	waiting []string // the stacks that wait for a mutex, or that run
	holding []string // the stacks that wait for the network, perhaps with the mutex
}

// Error implements error.
func (e *stallError) Error() string {
	var b strings.Builder
	b.WriteString(e.what())
	for _, s := range e.waiting {
		fmt.Fprintf(&b, "\n\nwaits for a mutex, or runs:\n%s", s)
	}
	for _, s := range e.holding {
		fmt.Fprintf(&b, "\n\nwaits for the network, and may hold the mutex:\n%s", s)
	}
	return b.String()
}

func (e *stallError) what() string {
	if e.deadlocked() {
		return "the run stands still: a mutex is held across a wait for the network, and virtual time does not pass while somebody waits for a mutex"
	}
	return fmt.Sprintf("the run did not end within %v: the lock spins without waiting, or holds a mutex while it waits for the network", stall)
}

// deadlocked reports whether all that does not wait for virtual time waits for a mutex.
// Then nothing in the run goes on.
func (e *stallError) deadlocked() bool {
	return len(e.waiting) > 0 && !slices.ContainsFunc(e.waiting, func(s string) bool {
		head, _, _ := strings.Cut(s, "\n")
		return !strings.Contains(head, "Mutex.")
	})
}

// Short is the error with the calls of one goroutine that waits for a mutex, and of one
// that may hold it.
func (e *stallError) Short() string {
	var b strings.Builder
	b.WriteString(e.what())
	if len(e.waiting) > 0 {
		fmt.Fprintf(&b, "\n%s for a mutex, or runs:\n\t%s", waits(e.waiting), strings.Join(calls(e.waiting[0]), "\n\t"))
	}
	if len(e.holding) > 0 {
		fmt.Fprintf(&b, "\n%s for the network, and may hold the mutex:\n\t%s", waits(e.holding), strings.Join(calls(e.holder()), "\n\t"))
	}
	return b.String()
}

// waits says that the first of some goroutines waits.
func waits(all []string) string {
	if len(all) == 1 {
		return "a goroutine waits"
	}
	return fmt.Sprintf("the first of %d goroutines waits", len(all))
}

// holder is the goroutine that most likely holds the mutex: one of go-redis only if the
// mutex is that of go-redis.
func (e *stallError) holder() string {
	for _, s := range e.holding {
		_, by, _ := strings.Cut(s, "created by ")
		if e.Unwrap() != nil && acrossNetworkIn(s) || e.Unwrap() == nil && !strings.Contains(by, "redis/go-redis") {
			return s
		}
	}
	return e.holding[0]
}

// ofHarness are the parts of holdfast whose calls are not those of a lock.
var ofHarness = []string{"sim.", "internal/play", "scenarios/locks.", "locktest.(*"}

// calls are the calls of a stack with their lines, without those of the harness, of the
// runtime and of the inside of go-redis.
func calls(stack string) []string {
	lines := strings.Split(stack, "\n")[1:]
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

// errOfClient is a stall of go-redis alone.
var errOfClient = errors.New("go-redis holds a mutex of its own while it waits for the network, and stalls")

// acrossNetwork are the parts of go-redis that hold a mutex while they wait for the
// network: a subscription that connects again, and the table of a cluster's commands.
var acrossNetwork = []string{"go-redis/v9.(*PubSub).", "go-redis/v9.(*cmdsInfoCache)."}

// Unwrap returns errOfClient if a goroutine waits for such a mutex.
func (e *stallError) Unwrap() error {
	if slices.ContainsFunc(e.waiting, acrossNetworkIn) {
		return errOfClient
	}
	return nil
}

// acrossNetworkIn reports whether a goroutine is in such a part.
func acrossNetworkIn(stack string) bool {
	return slices.ContainsFunc(acrossNetwork, func(part string) bool { return strings.Contains(stack, part) })
}

// guarded plays a run, and leaves it behind when it does not end.
func guarded(run func() (*play.Played, error)) (*play.Played, error) {
	type answer struct {
		played *play.Played
		err    error
	}
	done := make(chan answer, 1) // a run that is left behind may still end
	if err := watched(func() {
		p, err := run()
		done <- answer{p, err}
	}); err != nil {
		return nil, err
	}
	a := <-done
	return a.played, a.err
}

// still is how many seconds a run is without use of the processor before watched looks
// for a deadlock.
var still = 5

// watched runs what plays a scenario, and leaves it behind when it does not end:
// then the error is a [*stallError].
func watched(run func()) *stallError {
	done := make(chan struct{})
	go func() {
		defer close(done)
		run()
	}()
	began := time.Now()
	start, unmeasured := processor.Time()
	const look = time.Second
	for used, quiet := start, 0; ; {
		timer := time.NewTimer(min(look, stall))
		select {
		case <-done:
			timer.Stop()
			return nil
		case <-timer.C:
		}
		now, _ := processor.Time()
		idle := now-used < look/50
		used = now
		if quiet++; !idle || unmeasured != nil {
			quiet = 0
		}
		if quiet >= still {
			quiet = 0
			if e := stuck(stacks.All()); e.deadlocked() {
				return e
			}
		}
		if now-start > stall || time.Since(began) > stall && (idle || unmeasured != nil) {
			return stuck(stacks.All())
		}
	}
}

// ofNetwork are the calls in which a goroutine waits for the network.
var ofNetwork = []string{"holdfast/sim.(*pipe).wait", "holdfast/sim.(*World).dial", "go-redis/v9/internal/pool.(*ConnPool)."}

// stuck finds in the newest bubble who stands still. Bubbles count upwards, and
// older ones are runs that were left behind.
func stuck(all []string) *stallError {
	newest := 0
	for _, s := range all {
		newest = max(newest, bubble(s))
	}
	e := &stallError{}
	for _, s := range all {
		head, _, _ := strings.Cut(s, "\n")
		switch {
		case newest == 0 || bubble(s) != newest:
		case !strings.Contains(head, "(durable)"):
			e.waiting = append(e.waiting, stacks.Plain(s))
		case slices.ContainsFunc(ofNetwork, func(part string) bool { return strings.Contains(s, part) }) && !strings.Contains(s, "created by github.com/holdfast-go/holdfast/sim."):
			e.holding = append(e.holding, stacks.Plain(s))
		}
	}
	return e
}

// bubble is the number of the bubble that a goroutine is in; 0 for none.
func bubble(stack string) int {
	head, _, _ := strings.Cut(stack, "\n")
	_, number, _ := strings.Cut(head, "synctest bubble ")
	n, err := strconv.Atoi(strings.TrimRight(number, "]:"))
	if err != nil {
		return 0 // in no bubble
	}
	return n
}
