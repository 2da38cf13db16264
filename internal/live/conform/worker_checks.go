package conform

import (
	"context"
	"errors"
	"os/exec"

	"github.com/holdfast-go/holdfast/internal/adapter"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// checkWorker checks what has nothing to do with any lock, and asks for those
// that there are.
func checkWorker(ctx context.Context, o Options) (locks []locks.Description, results []Result, err error) {
	s := &stage{ctx: ctx, opts: o}
	results = s.inTurn(o.choose(workerChecks(&locks)))
	return locks, results, errors.Join(ctx.Err(), s.err)
}

// workerChecks are those of an adapter itself; the first stores the locks that it
// describes.
func workerChecks(locks *[]locks.Description) []check {
	return []check{
		{name: "describe", essential: true, try: func(t *trial) { *locks = t.describe() },
			contract: "list its locks. It may come before `hello`, or be the only request before `stop`, so connect to nothing"},
		{name: "stop-first", try: tryStopFirst,
			contract: "exit with status 0, after the answer"},
		{name: "other-protocol", try: tryOtherProtocol,
			contract: "Answer any other with `unsupported`, and exit"},
	}
}

func tryStopFirst(t *trial) {
	p := t.extra()
	t.within(t.startTime(), t.send(p, message{"do": "describe"}))
	t.stop(p)
}

func (t *trial) describe() []locks.Description {
	p := t.extra()
	ctx, cancel := context.WithTimeout(t.ctx, t.startTime())
	defer cancel()
	locks, err := p.Conversation().Describe(ctx)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		t.fail("describe is not answered within %s%s", t.startTime(), stderrOf(p))
	case err != nil && p.Conversation().Err() != nil:
		t.gone(p, "describe", err)
	case err != nil:
		t.fail("%v", err)
	}
	if to := got(p.Remotes()); len(to) > 0 {
		t.fail("asked for nothing but to describe, it is connected to %v", to)
	}
	return locks
}

const nowhere = "127.0.0.1:1"

func tryOtherProtocol(t *trial) {
	p := t.extra()
	hello := adapter.Hello{Protocol: "holdfast-worker/9", Process: p.Name(), LeaseNS: t.opts.Lease.Nanoseconds(), Redis: adapter.Access{Primaries: []string{nowhere}}}
	a := t.within(t.startTime(), t.send(p, message{"do": "hello", "hello": hello}))
	if !a.is("unsupported") {
		t.fail("a hello of %s is answered with %s", hello.Protocol, a)
	}
	t.exits(p, "a hello of "+hello.Protocol)
}

// exits fails the trial unless a process exits by itself.
func (t *trial) exits(p *player, after string) {
	ctx, cancel := context.WithTimeout(t.ctx, t.opts.Patience)
	defer cancel()
	select {
	case <-p.Ended():
	case <-ctx.Done():
		t.fail("after %s it still runs when %s are over%s", after, t.opts.Patience, stderrOf(p))
	}
	if status, ok := errors.AsType[*exec.ExitError](p.Err()); ok && status.ExitCode() < 0 {
		t.fail("after %s it has closed its standard output and goes on: %v", after, p.Err())
	}
}

// stop stops a process, which must exit with status 0.
func (t *trial) stop(p *player) {
	ctx, cancel := context.WithTimeout(t.ctx, t.opts.Patience)
	defer cancel()
	if err := p.Stop(ctx); err != nil {
		t.fail("%v%s", err, stderrOf(p))
	}
}
