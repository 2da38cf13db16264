package checker

import "github.com/holdfast-go/holdfast/checker/history"

// worldLive is the world with real, slightly inaccurate measurements.
const worldLive = "live"

// allowances are the judges' tolerances, because no lock is instant. There are two
// kinds. These follow the pace of the run: in a faster run, locks, clients and the
// workload wait for shorter times. They have a floor, because the machine still
// has to schedule processes and open sockets.
//
// The other kind is the noise of machines and networks, which does not depend on the
// pace: slackOfServers, arrivalSlack, closingSlack, notice, unbounded and underway. All
// but the first come on top of machine. A part of a lease, or a claim in the header, is
// already in the time of the run.
type allowances struct {
	// waitSlack is the time by which a bounded wait may overrun, or end early.
	waitSlack int64
	// healing is the time for which waiters are excused after a fault.
	healing int64
	// settling is the time for which a fault that strikes in an instant is excused:
	// connections are opened again, clients find the new primary.
	settling int64
	// takingBack is the time for which a lock that takes given up acquires back may need
	// for it, while nothing stands in its way.
	takingBack int64
	// takenBackLater is the time for which a fault may keep it from that: a lock need not
	// try for ever. It has no floor, for to ask less of a lock is to forgive more.
	takenBackLater int64
	// rounding is the time by which the time of a server event and a TTL may be off
	// together. It follows no pace, but the world: a TTL has milliseconds; and
	// a real server notes when a command ran some time after it ran.
	rounding int64
	// machine is the time by which anything may take longer in a world
	// where processes have to wait for their turn on a machine. A harness does
	// not keep runs in which it waited longer itself.
	machine int64
	// underway is the time for which a request may be on its way to a server. A request
	// that has to open connections, and whose script the server lacks, takes up to
	// messagesOfRequest messages one after the other.
	underway int64
}

const messagesOfRequest = 13

func allowancesOf(h *history.Header) allowances {
	scale := h.TimeScale
	if scale == 0 {
		scale = 1
	}
	scaled := func(d, least int64) int64 { return max(int64(float64(d)*scale), least) }
	a := allowances{
		waitSlack:      scaled(second, 150*millisecond),
		healing:        scaled(second, 200*millisecond),
		settling:       scaled(5*second, 500*millisecond),
		takingBack:     scaled(second, 200*millisecond),
		takenBackLater: scaled(3*second, 0),
		rounding:       millisecond,
		underway:       max(underway, messagesOfRequest*min(h.Latency, second)),
	}
	if h.World == worldLive {
		a.rounding, a.machine = slackOfServers, scaled(300*millisecond, 150*millisecond)
	}
	return a
}
