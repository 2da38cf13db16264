package sweep

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/must"
)

// A hazard that begins at a value, however steep, is found to the resolution,
// from either side.
func TestBisectFindsWhereItBegins(t *testing.T) {
	for _, over := range []string{"pause=1s..12s:5", "pause=1s~12s:5", "pause=1s,12s"} {
		a, err := parseAxis(over)
		must.Succeed(t, err)
		for _, begins := range []time.Duration{1001 * time.Millisecond, 6666667 * time.Microsecond, 12 * time.Second} {
			for _, falls := range []bool{false, true} {
				played := 0
				play := func(v Value) (Count, error) {
					played++
					c := Count{Runs: 100}
					if (v >= Value(begins)) != falls {
						c.Overlaps = c.Runs
					}
					return c, nil
				}
				var counts []Count
				for _, v := range a.Values {
					c, _ := play(v)
					counts = append(counts, c)
				}
				b, ok := bracket(a.Values, counts)
				if !ok {
					t.Fatalf("%s, %v: no boundary among %v", over, begins, counts)
				}
				b, err = a.bisect(b, Value(time.Millisecond), play)
				lo, hi := min(b.With, b.Without), max(b.With, b.Without)
				if err != nil || hi-lo > Value(time.Millisecond) || lo >= Value(begins) || hi < Value(begins) {
					t.Errorf("%s, %v: between %v and %v, %v", over, begins, time.Duration(lo), time.Duration(hi), err)
				}
				if (b.With > b.Without) == falls || b.CountWith.Overlaps == 0 || b.CountWithout.Overlaps > 0 {
					t.Errorf("%s, %v: the sides are the wrong way round: %+v", over, begins, b)
				}
				if played > 30 {
					t.Errorf("%s, %v: took %d values", over, begins, played)
				}
			}
		}
	}
}

func TestNoBoundary(t *testing.T) {
	none, some, all, nobodyKnows := Count{Runs: 9}, Count{Runs: 9, Overlaps: 2}, Count{Runs: 9, Overlaps: 9}, Count{Runs: 9, OverlapsUnknown: 9}
	for _, counts := range [][]Count{{none, none}, {some, some}, {nobodyKnows, all}, {all}, {all, all}, {none, some}, {some, all}} {
		if b, ok := bracket([]Value{1, 2}[:len(counts)], counts); ok {
			t.Errorf("%v: %+v", counts, b)
		}
	}
}

func TestBisectStops(t *testing.T) {
	a, err := parseAxis("replicas=1..3")
	must.Succeed(t, err)
	b, err := a.bisect(boundary{Without: 1, With: 2}, 0, func(Value) (Count, error) { return Count{}, errors.New("played") })
	if err != nil || b.Without != 1 || b.With != 2 {
		t.Errorf("neighbours: %+v, %v", b, err)
	}
	if _, err := a.bisect(boundary{Without: 1, With: 9}, 0, func(Value) (Count, error) { return Count{Runs: 3, OverlapsUnknown: 3}, nil }); err == nil {
		t.Error("a value of which nothing is known counts as one without an overlap")
	}
}

// Where chance decides, the value without an overlap moves with the number of seeds. It
// is a bound, and never a boundary.
func TestChanceHasNoBoundary(t *testing.T) {
	for _, seeds := range []int{60, 2000} {
		r := made(t, []string{"pause=5s,8s,10s"})
		r.take([]Count{{Runs: seeds}, {Runs: seeds, Overlaps: seeds / 50}, {Runs: seeds, Overlaps: seeds}})
		found, err := r.boundaries(0, func(Point) (Count, error) {
			t.Error("it plays more values")
			return Count{Runs: seeds}, nil
		})
		if err != nil || len(found) > 0 {
			t.Errorf("%d seeds: boundaries %+v, %v", seeds, found, err)
		}
		said := strings.Join(r.Sentences(), "\n")
		if strings.Contains(said, "begin") || !strings.Contains(said, "a bound and not a safe value") {
			t.Errorf("%d seeds: %s", seeds, said)
		}
	}
	// Bisection stops where only some of the runs overlap.
	a, err := parseAxis("pause=1s,12s")
	must.Succeed(t, err)
	never, always := Count{Runs: 9}, Count{Runs: 9, Overlaps: 9}
	b, err := a.bisect(boundary{Without: a.Values[0], With: a.Values[1], CountWithout: never, CountWith: always}, 1, func(Value) (Count, error) {
		return Count{Runs: 9, Overlaps: 3}, nil
	})
	if err != nil || b.CountWith != always || b.With != a.Values[1] {
		t.Errorf("%+v, %v", b, err)
	}
}
