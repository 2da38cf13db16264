package locktest

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/internal/processor"
	"github.com/holdfast-go/holdfast/internal/stacks"
	"github.com/holdfast-go/holdfast/play"
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
	fmt.Fprintf(&b, "the run did not end within %v: the lock spins without waiting, or holds a mutex while it waits for the network", stall)
	for _, s := range e.waiting {
		fmt.Fprintf(&b, "\n\nwaits for a mutex, or runs:\n%s", s)
	}
	for _, s := range e.holding {
		fmt.Fprintf(&b, "\n\nwaits for the network, and may hold the mutex:\n%s", s)
	}
	return b.String()
}

// errOfClient is a stall of go-redis alone.
var errOfClient = errors.New("go-redis holds a mutex of its own while it waits for the network, and stalls")

// acrossNetwork are the parts of go-redis that hold a mutex while they wait for the
// network: a subscription that connects again, and the table of a cluster's commands.
var acrossNetwork = []string{"go-redis/v9.(*PubSub).", "go-redis/v9.(*cmdsInfoCache)."}

// Unwrap returns errOfClient if a goroutine waits for such a mutex.
func (e *stallError) Unwrap() error {
	for _, part := range acrossNetwork {
		if slices.ContainsFunc(e.waiting, func(s string) bool { return strings.Contains(s, part) }) {
			return errOfClient
		}
	}
	return nil
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

// watched runs what plays a scenario, and leaves it behind when it does not end:
// then the error is a [*stallError].
func watched(run func()) error {
	done := make(chan struct{})
	go func() {
		defer close(done)
		run()
	}()
	began := time.Now()
	start, unmeasured := processor.Time()
	const look = time.Second
	for used := start; ; {
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
		if now-start > stall || time.Since(began) > stall && (idle || unmeasured != nil) {
			return stuck(stacks.All())
		}
	}
}

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
		case strings.Contains(s, "holdfast/sim.(*pipe).wait") && !strings.Contains(s, "created by github.com/holdfast-go/holdfast/sim."):
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
