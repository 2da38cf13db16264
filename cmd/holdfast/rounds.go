package main

import (
	"context"
	"errors"
	"fmt"
)

// rounds plays jobs on worker processes round after round, and keeps the
// processes in between.
type rounds struct {
	cancel  context.CancelFunc
	ctx     context.Context
	jobs    chan job
	answers chan answer
	over    chan struct{} // closed when no answer will come any more
	err     error         // why, once over is closed; nil when it was stopped
	next    int           // the id of the next job
}

// start starts worker processes that wait for rounds, until stop is called.
func (p pool) start() *rounds {
	r := &rounds{jobs: make(chan job), answers: make(chan answer), over: make(chan struct{})}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	go func() {
		defer close(r.over)
		r.err = p.stream(r.ctx, p.workers, r.incoming, func(a answer) {
			select {
			case r.answers <- a:
			case <-r.ctx.Done():
			}
		})
	}()
	return r
}

// incoming are the jobs of all rounds.
func (r *rounds) incoming(yield func(job) bool) {
	for {
		select {
		case j := <-r.jobs:
			if !yield(j) {
				return
			}
		case <-r.ctx.Done():
			return
		}
	}
}

// play plays the jobs of one round and returns the answers in their order. It
// gives up when ctx ends; what is under way then is of no use to anybody.
func (r *rounds) play(ctx context.Context, jobs []job) ([]answer, error) {
	first := r.next
	r.next += len(jobs)
	give, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		for i, j := range jobs {
			j.ID = first + i
			select {
			case r.jobs <- j:
			case <-give.Done():
				return
			}
		}
	}()
	answers := make([]answer, len(jobs))
	for left := len(jobs); left > 0; {
		select {
		case a := <-r.answers:
			if a.ID >= first { // or it is of a round that was given up
				answers[a.ID-first] = a
				left--
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-r.over:
			if r.err == nil {
				r.err = errors.New("the workers ended")
			}
			return nil, fmt.Errorf("play round: %w", r.err)
		}
	}
	return answers, nil
}

// stop ends the processes.
func (r *rounds) stop() {
	r.cancel()
	<-r.over
}
