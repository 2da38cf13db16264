package selftest

import (
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

const manyVariations = 15

// A variation is a scenario like any other. Its YAML parses to the same scenario,
// so that a user can replay a finding.
func TestAVariationIsAFile(t *testing.T) {
	for _, s := range scenarios.Catalogue() {
		for seed := range uint64(manyVariations) {
			varied := vary(s, seed)
			src, err := varied.YAML()
			must.Succeed(t, err)
			again, err := scenarios.Parse("varied.yaml", src)
			if err != nil {
				t.Fatalf("%s, variation %d: %v\n%s", s.Name, seed, err, src)
			}
			if !reflect.DeepEqual(varied, again) {
				t.Fatalf("%s, variation %d: read back as another scenario\n%s\n%+v\n%+v", s.Name, seed, src, varied, again)
			}
		}
	}
}

// The seed alone determines a variation, and other seeds give other variations.
func TestAVariationFollowsFromItsSeed(t *testing.T) {
	for _, s := range scenarios.Catalogue() {
		if !reflect.DeepEqual(vary(s, 7), vary(s, 7)) {
			t.Errorf("%s: two variations of one seed", s.Name)
		}
		if reflect.DeepEqual(vary(s, 7), vary(s, 8)) {
			t.Errorf("%s: one variation of two seeds", s.Name)
		}
	}
}

// The workload varies, not only the network.
func TestVariationsOfContention(t *testing.T) {
	s, err := scenarios.Find("contention")
	must.Succeed(t, err)
	clients, leases := map[int]bool{}, map[faults.Duration]bool{}
	for seed := range uint64(200) {
		v := vary(s, seed)
		clients[v.Topology.Clients], leases[v.Workload.Lease] = true, true
		if v.Workload.Lease < 4*v.Workload.Think {
			t.Errorf("variation %d: a lease of %v for work of %v", seed, v.Workload.Lease, v.Workload.Think)
		}
	}
	if len(clients) != 7 || len(leases) < 100 {
		t.Errorf("%d numbers of clients and %d leases in 200 variations, want 7 and many", len(clients), len(leases))
	}
}

// A variation keeps the story: other numbers, but the same scenario. The
// catalogue is shared, so a variation must not change it.
func TestAVariationTellsTheSameStory(t *testing.T) {
	for _, name := range scenarios.Names() {
		src, err := scenarios.Source(name)
		must.Succeed(t, err)
		fresh, err := scenarios.Parse(name+".yaml", src)
		must.Succeed(t, err)
		shared, err := scenarios.Find(name)
		must.Succeed(t, err)
		for seed := range uint64(manyVariations) {
			varied := vary(shared, seed)
			if !reflect.DeepEqual(varied, vary(fresh, seed)) {
				t.Fatalf("%s, variation %d: not the one of the scenario's file", name, seed)
			}
			if !reflect.DeepEqual(varied.Expect, fresh.Expect) || !reflect.DeepEqual(varied.Only, fresh.Only) ||
				varied.Topology.Groups != fresh.Topology.Groups || varied.Topology.Replicas != fresh.Topology.Replicas {
				t.Fatalf("%s, variation %d: another story: %+v", name, seed, varied)
			}
			for i, f := range varied.Faults {
				f.After, f.For, f.By = fresh.Faults[i].After, fresh.Faults[i].For, fresh.Faults[i].By
				if !reflect.DeepEqual(f, fresh.Faults[i]) {
					t.Fatalf("%s, variation %d: another fault: %+v", name, seed, f)
				}
			}
			for _, lock := range locks.Names() {
				was, _ := fresh.Applies(locks.MustFind(lock))
				if is, why := varied.Applies(locks.MustFind(lock)); is != was {
					t.Fatalf("%s, variation %d, with %s: applies %v, was %v %s", name, seed, lock, is, was, why)
				}
			}
		}
		if !reflect.DeepEqual(shared, fresh) {
			t.Fatalf("%s: the catalogue has changed", name)
		}
	}
}

// A judge decides a run of this size, and a lease is long beside a request.
func TestAVariationStaysSmall(t *testing.T) {
	for _, s := range scenarios.Catalogue() {
		for seed := range uint64(manyVariations) {
			v := vary(s, seed)
			ops := 0
			for n := range v.Topology.Clients {
				w := v.WorkloadOf(n + 1)
				ops += w.Holds * (4 + 2*len(w.Nested))
			}
			if ops > 150 {
				t.Errorf("%s, variation %d: %d operations", s.Name, seed, ops)
			}
			there := 2 * time.Duration(v.Topology.Latency.Max+v.Topology.Lag)
			if lease := time.Duration(v.Workload.Lease); lease < 4*there {
				t.Errorf("%s, variation %d: a lease of %v, and a confirmed request takes %v", s.Name, seed, lease, there)
			}
		}
	}
}

// Each row of the table names an existing scenario.
func TestVariationsAreOfTheCatalogue(t *testing.T) {
	for _, name := range slices.Concat(slices.Collect(maps.Keys(ranged)), slices.Collect(maps.Keys(related))) {
		if _, err := scenarios.Find(name); err != nil {
			t.Error(err)
		}
	}
}

// A scenario of a user varies only in its latencies, because its author has
// allowed nothing more.
func TestAnUnknownScenarioVariesInLatencyOnly(t *testing.T) {
	s, err := scenarios.Find("holder-pause")
	must.Succeed(t, err)
	mine := clone(s)
	mine.Faults = nil // under the old name
	v := vary(mine, 3)
	if v.Topology.Latency == mine.Topology.Latency || v.Topology.Lag == 0 {
		t.Errorf("its latencies are the same: %+v", v.Topology)
	}
	v.Topology.Latency, v.Topology.Lag = scenarios.Latency{}, faults.Duration(0)
	if !reflect.DeepEqual(v, mine) {
		t.Errorf("more has changed: %+v, was %+v", v, mine)
	}
}
