package faults

import (
	"context"
	"testing"
	"testing/synctest"
)

// A workload must not take a step while its process is paused, and none after a
// crash, paused or not.
func TestProcessGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewProcess("client-1")
		steps := make(chan bool, 1)
		step := func() { steps <- p.Gate() }
		p.SetPaused(true)
		go step()
		synctest.Wait()
		if len(steps) != 0 {
			t.Error("a paused process takes a step")
		}
		p.SetPaused(false)
		if !<-steps {
			t.Error("a process that goes on is taken for crashed")
		}
		p.SetPaused(true)
		go step()
		p.Crash()
		p.Crash()
		if <-steps || !p.Crashed() || p.Paused() || p.Dead().Err() == nil {
			t.Errorf("after a crash: crashed %v, paused %v, dead %v", p.Crashed(), p.Paused(), p.Dead().Err())
		}
	})
}

// A cancel fault must end the current operation, not the next one, and report if
// there is none.
func TestProcessCancel(t *testing.T) {
	p := NewProcess("client-1")
	if err := p.Cancel(false); err == nil || err.Error() != "client-1 is in no operation that could be cancelled" {
		t.Errorf("outside an operation: %v", err)
	}
	ctx, done := p.Begin(t.Context(), "acquire")
	if op := p.Op(); op != "acquire" {
		t.Errorf("it is in %q", op)
	}
	if err := p.Cancel(false); err != nil || ctx.Err() != context.Canceled {
		t.Errorf("cancel: %v, the context: %v", err, ctx.Err())
	}
	done()
	if err := p.Cancel(false); err == nil || p.Op() != "background" {
		t.Errorf("after the operation: %v, in %q", err, p.Op())
	}
}
