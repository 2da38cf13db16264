package conform

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/internal/adapter"
)

// trial is one check being carried out. Its methods end it, by a panic that [stage.one]
// takes, when the adapter does not do as it should.
type trial struct {
	*stage
	name   string    // of the lock that is only this trial's
	remark string    // worth knowing about a success
	extras []*player // processes of this trial alone
	others []string  // threads of the first process that have permits
}

type message map[string]any

type answer struct {
	OK         bool
	Errors     []string
	Protocol   string
	Identity   string
	Count      int
	Token      uint64
	Lease      time.Duration `json:"lease_ns"`
	Renewed    bool
	Hold       int64
	Lost       bool
	Goroutines []string

	line string
	id   int64
}

// String is the answer as it came.
func (a answer) String() string {
	const most = 300
	if len(a.line) > most {
		return strings.ToValidUTF8(a.line[:most], "?") + "..."
	}
	return a.line
}

func (a answer) is(classes ...string) bool {
	return slices.ContainsFunc(a.Errors, func(c string) bool { return slices.Contains(classes, c) })
}

func (t *trial) fail(format string, args ...any) { panic(failure{fmt.Sprintf(format, args...)}) }

type asked struct {
	*adapter.Asked
	to   *player
	do   string
	sent time.Time
}

func (t *trial) send(p *player, m message) *asked {
	a, err := p.Conversation().Ask(m)
	do := fmt.Sprint(m["do"])
	if err != nil {
		t.gone(p, do, err)
	}
	return &asked{Asked: a, to: p, do: do, sent: time.Now()}
}

func (t *trial) within(d time.Duration, r *asked) answer {
	ctx, cancel := context.WithTimeout(t.ctx, d)
	defer cancel()
	line, err := r.Line(ctx)
	if errors.Is(err, context.DeadlineExceeded) && t.ctx.Err() == nil {
		t.fail("%s, request %d to %s, is not answered within %s%s", r.do, r.ID(), r.to.Name(), d, stderrOf(r.to))
	}
	if err != nil {
		t.gone(r.to, r.do, err)
	}
	a := answer{line: string(line), id: r.ID()}
	if err := json.Unmarshal(line, &a); err != nil {
		t.fail("%s is answered with %s: %v", r.do, a, err)
	}
	return a
}

// soon awaits an answer that waits for nothing.
func (t *trial) soon(r *asked) answer { return t.within(t.opts.Patience, r) }

func (t *trial) ask(p *player, m message) answer { return t.soon(t.send(p, m)) }

// gone fails the trial because a process cannot be talked to.
func (t *trial) gone(p *player, do string, err error) {
	possible(t.ctx.Err())
	ctx, cancel := context.WithTimeout(t.ctx, t.opts.Patience)
	defer cancel()
	if ended := p.Wait(ctx); ended != nil && ctx.Err() == nil {
		err = ended
	}
	t.fail("asked to %s: %v", do, err)
}

func stderrOf(p *player) string {
	if p.Stderr() == "" {
		return ""
	}
	return "; the end of its stderr:\n" + p.Stderr()
}

// The requests of an owner.

func (t *trial) owner(do, thread string, with message) message {
	m := message{"do": do, "lock": t.name, "thread": thread}
	maps.Copy(m, with)
	return m
}

// take acquires a lock that is free.
func (t *trial) take(p *player, thread string, with message) answer {
	a := t.ask(p, t.owner("acquire", thread, with))
	t.granted(a, thread)
	return a
}

// granted fails the trial unless an answer grants the lock for the first time.
func (t *trial) granted(a answer, thread string) {
	if !a.OK {
		t.fail("an acquire of a free lock by thread %s is answered with %s", thread, a)
	}
	if a.Count != 1 {
		t.fail("the first hold of thread %s has the count %d: %s", thread, a.Count, a)
	}
	if a.Hold != 0 && a.Hold != a.id {
		t.fail("the hold began with acquire %d, and the answer says %d: %s", a.id, a.Hold, a)
	}
}

// giveBack releases a lock that is held once.
func (t *trial) giveBack(p *player, thread string) {
	if a := t.ask(p, t.owner("release", thread, nil)); !a.OK || a.Count != 0 {
		t.fail("the release of a lock that thread %s holds once is answered with %s", thread, a)
	}
}

// turn takes a lock that is free, and gives it back.
func (t *trial) turn(p *player, thread string) {
	t.take(p, thread, nil)
	t.giveBack(p, thread)
}

// crowd takes all permits of a semaphore but one, for longer than the trial takes.
func (t *trial) crowd() {
	var long message
	if t.lock.Claims.Explicit {
		long = message{"lease_ns": 20 * t.opts.Lease.Nanoseconds()}
	}
	for i := 1; i < t.lock.Claims.Permits; i++ {
		thread := fmt.Sprint(100 + i)
		t.take(t.first(), thread, long)
		t.others = append(t.others, thread)
	}
}

// disperse gives back what crowd has taken.
func (t *trial) disperse() {
	for _, thread := range t.others {
		t.giveBack(t.first(), thread)
	}
	t.others = nil
}

// refused fails the trial unless a single try returns that the lock is busy.
func (t *trial) refused(p *player, thread string) {
	if a := t.ask(p, t.owner("acquire", thread, nil)); !a.is("busy") {
		t.fail("while another owner holds the lock, one try by thread %s of %s is answered with %s", thread, p.Name(), a)
	}
}

// wins acquires a lock that will be free, by trying again and again.
func (t *trial) wins(p *player, thread string, within time.Duration) {
	const pause = 20 * time.Millisecond
	for end := time.Now().Add(within); ; time.Sleep(pause) {
		a := t.ask(p, t.owner("acquire", thread, nil))
		switch {
		case a.OK:
			return
		case !a.is("busy"):
			t.fail("one try by thread %s of %s is answered with %s", thread, p.Name(), a)
		case time.Now().After(end):
			t.fail("after %s the lock is still busy", within)
		}
	}
}
