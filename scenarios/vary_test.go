package scenarios_test

import (
	"reflect"
	"testing"

	"github.com/holdfast-go/holdfast/scenarios"
)

// A variation is a scenario like any other: what is written of it can be read,
// and is the same scenario again, so that a finding can be played again.
func TestAVariationIsAFile(t *testing.T) {
	for _, s := range scenarios.Catalogue() {
		for seed := range uint64(20) {
			varied := scenarios.Vary(s, seed)
			src, err := varied.YAML()
			if err != nil {
				t.Fatal(err)
			}
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
