package holdfast_test

import (
	"os/exec"
	"testing"
)

// A stranger has to find a way through the house, and through what it exports. The script
// has the ceilings, and says what grew above its own.
func TestTheHouseStaysSmall(t *testing.T) {
	if out, err := exec.Command("go", "run", "scripts/size.go").CombinedOutput(); err != nil {
		t.Errorf("make size: %v\n%s", err, out)
	}
}
