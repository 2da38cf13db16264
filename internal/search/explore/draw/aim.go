package draw

import (
	"time"

	"github.com/holdfast-go/holdfast/faults"
)

// when anchors a fault to a phase of a client, or to a time if the phase is empty.
func (d *draw) when(s *faults.Spec, c string, phase Phase) {
	if phase == "" {
		phase = d.phase(s.Fault)
	}
	think := max(d.think(), 10*ms)
	on := &faults.Anchor{Client: c}
	if d.chance(3) {
		on.Nth = d.number(2, 4)
	}
	switch phase {
	case AcquireSent:
		on.Moment, on.Op = d.sent(), "acquire"
	case AcquireExecuted:
		on.Moment, on.Op, on.Changed = faults.Executed, "acquire", true
	case AcquireReplied:
		on.Moment = faults.Granted
		if d.chance(4) {
			on.Moment, on.Op = faults.Answered, "acquire"
		}
	case Waiting:
		if hears(d.lock) && d.chance(3) {
			on.Moment, on.Nth = faults.Published, 0
			if d.chance(2) {
				on.Moment = faults.Delivered
			}
			break
		}
		// A waiter asks several times, or waits while another client holds.
		if d.chance(2) {
			on.Moment, on.Op, on.Nth = faults.Received, "acquire", d.number(2, 6)
			break
		}
		on.Moment, on.Client = faults.Granted, d.another(c)
		s.After = d.between(2*ms, think)
	case Holding:
		if d.chance(3) {
			on.Moment = faults.Writing
			break
		}
		on.Moment = faults.Granted
		s.After = d.between(2*ms, think)
	case Renewing:
		on.Moment, on.Op = faults.Executed, "background"
		on.Changed = d.chance(2)
		if d.chance(3) {
			on.Moment, on.Changed = faults.Received, false
		}
	case ReleaseSent:
		on.Moment, on.Op = d.sent(), "release"
	case ReleaseExecuted:
		on.Moment, on.Op, on.Changed = faults.Executed, "release", true
		if d.chance(4) {
			on.Moment, on.Changed = faults.Answered, false
		}
	case Idle:
		on.Moment = faults.Released
		s.After = d.between(ms, max(time.Duration(d.s.Workload.Rest), 100*ms))
	default:
		s.At = new(d.between(0, 3*d.lease()))
		return
	}
	s.On = on
}

// sent is the moment at which an operation starts, or at which a server has its
// request.
func (d *draw) sent() string {
	if d.chance(3) {
		return faults.Invoked
	}
	return faults.Received
}

// phase draws a phase in which a fault can strike, or "" for a time, in one of
// four cases.
func (d *draw) phase(fault string) Phase {
	if d.chance(4) && !traits(fault).Cancels {
		return ""
	}
	for {
		if p := Phases[d.rng.IntN(len(Phases))]; Possible(fault, p) {
			return p
		}
	}
}
