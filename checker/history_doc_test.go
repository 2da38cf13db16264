package checker

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/checker/history"
)

// Authors of their own recorders find every trait in the guide.
func TestEveryTraitIsDocumented(t *testing.T) {
	guide, err := os.ReadFile("../docs/history.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[history.Traits]()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !strings.Contains(string(guide), "| `"+name+"` |") {
			t.Errorf("docs/history.md does not have %s", name)
		}
	}
}
