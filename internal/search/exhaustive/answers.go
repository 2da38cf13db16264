package exhaustive

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/internal/goroutines"
	"github.com/holdfast-go/holdfast/internal/suite"
)

// queue puts answers into the order of their jobs.
type queue struct {
	mu      sync.Mutex // jobs are asked for and answered on different goroutines
	waiting map[int]task
	answers map[int]suite.Answer
	next    int
}

func (q *queue) asked(id int, it task) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting[id] = it
}

func (q *queue) answered(a suite.Answer, take func(task, suite.Answer)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.answers[a.ID] = a
	for {
		a, ok := q.answers[q.next]
		if !ok {
			return
		}
		it := q.waiting[q.next]
		delete(q.answers, q.next)
		delete(q.waiting, q.next)
		q.next++
		take(it, a)
	}
}

func estimate(done, of int, spent time.Duration) string {
	left := time.Duration(float64(spent) / float64(done) * float64(of-done))
	return fmt.Sprintf("placing: %d of %s, %.0f/s, about %s left", done, english.Count(of, "run"), float64(done)/spent.Seconds(), english.Span(left))
}

func (r *Results) take(w *workload, p Placement, name string, n int, out seen) {
	runs := Runs{Played: 1}
	if out.Missed {
		runs.NotStruck = 1
	}
	switch {
	case len(out.Faulty) > 0:
		runs.Violated = 1
		r.Violated = add(r.Violated, w.blame(out.Faulty, p, name, n, out.Source))
	case len(out.Inherent) > 0:
		runs.Inherent = 1
		r.Inherent = add(r.Inherent, causeOf(out.Inherent, 0, p, name, n, out.Source))
	case out.Unknown != "":
		runs.Unknown = 1
		r.Unknown[out.Unknown]++
	}
	w.counts.add(runs)
	if last := len(p.Faults) - 1; last >= 0 {
		r.Places = place(r.Places, Place{p.Faults[last].Fault, p.phase(), runs})
	}
}

// lost is the result of a run whose worker process is gone. A mutex that is held across a
// wait for the network stops virtual time, and then the result is unknown.
func lost(a suite.Answer, w *workload, name string, p Placement) seen {
	switch {
	case a.Killed:
		return seen{Unknown: "the worker process was killed from outside"}
	case a.Stalled == goroutines.Deadlocked, a.Stalled == goroutines.ClientDeadlocked:
		return seen{Unknown: "a mutex is held across a wait for the network, which the simulated world cannot play"}
	}
	out := hangs(w.with(w.lock, name, p.Faults), errors.New("the run never ended"))
	out.Faulty[0].Property = checker.Progress
	return out
}
