package reports

import (
	"bytes"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/internal/must"
)

// On a terminal the mark of every cell has the colour of its worst verdict, and the width
// that it has without.
func TestATextHasColours(t *testing.T) {
	d := sample()
	text := func() string {
		var b bytes.Buffer
		must.Succeed(t, d.Text(&b))
		return b.String()
	}
	plain := text()
	d.Colour = true
	painted := text()
	for _, colour := range []string{"\x1b[31m", "\x1b[32m"} {
		if !strings.Contains(painted, colour) {
			t.Errorf("nothing has the colour %q:\n%q", colour, painted)
		}
		painted = strings.ReplaceAll(painted, colour, "")
	}
	if got := strings.ReplaceAll(painted, "\x1b[0m", ""); got != plain {
		t.Errorf("with colours the text is\n%s\nwithout\n%s", got, plain)
	}
}
