package exhaustive

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/internal/nightly"
	"github.com/holdfast-go/holdfast/internal/play"
	"github.com/holdfast-go/holdfast/internal/search/explore/draw"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// A rule that leaves out a run of its own would hide what that run shows. So the run
// that stands for a placement must have the same history, but for the fault itself.
func TestAFaultOfIdleLinksMayBeginEarlier(t *testing.T) {
	granted := &faults.Anchor{Moment: faults.Granted, Client: "client-1", Nth: 1}
	for _, tt := range []struct {
		name, lock, base string
		first            *faults.Spec // nil for single faults
		one              int          // of so many placements
	}{
		{"one primary", "reentrant", "holder-and-waiter", nil, 13},
		{"a queue", "fair", "two-places", nil, 61},
		{"several primaries", "redlock", "nested", nil, 397},
		{"after a failover", "reentrant", "holder-and-waiter", &faults.Spec{Fault: "failover", Target: faults.Names{"node-1"}, On: granted}, 31},
		{"after a pause", "reentrant", "renewed", &faults.Spec{Fault: "pause", Target: faults.Names{"client-1"}, For: 3500 * ms, On: granted}, 31},
		{"after a partition", "reentrant", "holder-and-waiter", &faults.Spec{Fault: "partition", Target: faults.Names{"client-2"}, For: 2500 * ms, On: granted}, 31},
		{"after a delay", "reentrant", "holder-and-waiter", &faults.Spec{Fault: "delay", Target: faults.Names{"client-1"}, By: 50 * ms, For: 7000 * ms, On: granted}, 31},
		{"after a cut", "reentrant", "release-and-take-again", &faults.Spec{Fault: "cut-replication", Target: faults.Names{"node-1"}, For: 700 * ms, On: granted}, 31},
		{"after a restart", "reentrant", "holder-and-waiter", &faults.Spec{Fault: "node-restart", Target: faults.Names{"node-1"}, Data: "lose", For: 50 * ms, On: granted}, 31},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := locks.MustFind(tt.lock)
			found, err := find(l, tt.base)
			must.Succeed(t, err)
			b := found[0]
			v, err := draw.NewVocabulary(nil, nil, false)
			must.Succeed(t, err)
			play := func(p Placement) (*play.Seen, []history.Event) {
				played, look, err := play.SimulateWatched(b.with(l, "x", p.Faults), l, Seed, "", play.Watch{Moments: true})
				must.Succeed(t, err)
				var events []history.Event
				for _, e := range played.History.Events {
					if e.Kind != history.Fault {
						events = append(events, e)
					}
				}
				return look, events
			}
			on := &built{shown: shown{in: newWorkload(b, l, v.Faults, &BaseCounts{}), under: Placement{Base: b.Name}}}
			if tt.first != nil {
				on.under.Faults = []faults.Spec{*tt.first}
			}
			look, _ := play(on.under)
			on.seen = &seen{Moments: momentsOf(look.Moments)}
			if tt.first != nil {
				on.seen.Moments = from(on.seen.Moments, granted)
			}
			n, compared := 0, 0
			for m, at := range on.seen.Moments {
				for i, variant := range on.in.able {
					since := on.since(m, i)
					if since == m {
						continue
					}
					if n++; n%nightly.Every(tt.one) != 0 {
						continue
					}
					compared++
					start := on.seen.Moments[since]
					left := on.under.and(variant, at.Anchor).later(at.At - start.At)
					_, want := play(left)
					_, got := play(on.under.and(variant, start.Anchor))
					if diff := cmp.Diff(want, got); diff != "" {
						t.Errorf("%s: it is not the same at %s:\n%.2000s", left.When(), encoded(t, start.Anchor), diff)
					}
				}
			}
			if compared < 50 {
				t.Errorf("compared %d of %d placements: too few to show anything", compared, n)
			}
			t.Logf("compared %d of %d placements", compared, n)
		})
	}
}

func encoded(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	must.Succeed(t, err)
	return string(raw)
}
