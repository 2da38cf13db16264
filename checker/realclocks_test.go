package checker

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/holdfast-go/holdfast/checker/history"
)

// Real servers note an event a little late, or early, each by its own clock. The event
// still lies within its operation, and those of one server keep their order. That decides
// no verdict.
func TestServerTimesALittleOff(t *testing.T) {
	for _, c := range corpus(t) {
		if c.h == nil || c.folder == "invalid" {
			continue
		}
		live := *c.h
		live.Header.World = worldLive
		exact, err := Judge(&live, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for seed := range uint64(5) {
			off := live
			off.Events = aLittleOff(live.Events, millisecond/2, rand.New(rand.NewPCG(seed, 1)))
			r, err := Judge(&off, Options{})
			if err != nil {
				t.Fatal(err)
			}
			for p, v := range r.Verdicts {
				if want := exact.Verdicts[p]; v.Outcome != want.Outcome || v.Class != want.Class {
					t.Errorf("%s, seed %d, %s:\n got %+v\nwant %+v", c.name, seed, p, v, want)
				}
			}
		}
	}
}

// aLittleOff moves every server event by up to most, within the operations of
// its client that were under way.
func aLittleOff(events []history.Event, most int64, r *rand.Rand) []history.Event {
	out := slices.Clone(events)
	began, ended := map[int64]*history.Event{}, map[int64]int64{}
	for i := range out {
		switch e := &out[i]; e.Kind {
		case history.Invoke:
			began[e.Op] = &events[i]
		case history.OK, history.Fail, history.Info:
			ended[e.Op] = e.Time
		}
	}
	end := out[len(out)-1].Time
	latest := make([]int64, len(out)) // that the events that follow on the server allow
	follows := map[string]int64{}
	earliest := make([]int64, len(out))
	for i := len(out) - 1; i >= 0; i-- {
		e := &out[i]
		if e.Kind != history.Server {
			continue
		}
		latest[i] = end
		if t, ok := follows[e.Server.Node]; ok {
			latest[i] = t
		}
		for op, inv := range began {
			ret, returned := ended[op]
			if inv.Client == e.Server.By && inv.Time <= e.Time && (!returned || e.Time <= ret) {
				earliest[i] = max(earliest[i], inv.Time)
				if returned {
					latest[i] = min(latest[i], ret)
				}
			}
		}
		follows[e.Server.Node] = latest[i]
	}
	last := map[string]int64{}
	for i := range out {
		if e := &out[i]; e.Kind == history.Server {
			t := max(e.Time+r.Int64N(2*most+1)-most, earliest[i], last[e.Server.Node])
			e.Time = min(t, latest[i])
			last[e.Server.Node] = e.Time
		}
	}
	slices.SortStableFunc(out[:len(out)-1], func(a, b history.Event) int { return cmp.Compare(a.Time, b.Time) })
	return out
}

// A request at the very instant of a server's event cannot have caused that event.
func TestAskedForAtTheSameInstant(t *testing.T) {
	run(t, []propertyTest{{"a longer nested lease", leased(nil), `
		0    c1 acquire lease=1000; 2 ok count=1
		2    c1 acquire lease=5000
		2    server n1 EVAL by=c1 holder=c1 ttl=1000
		3    server n1 EVAL by=c1 holder=c1 count=2 ttl=5000
		4    c1 ok count=2
		10   c1 release
		11   server n1 EVAL by=c1 holder=c1 count=1 ttl=4992
		12   c1 ok count=1
		20   c1 gives`, Lease, OutcomeOK, "", "", ""}})
}
