package servers

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/live/processes"
)

// Whoever brings servers along has nothing but the page.
func TestOrdersDocs(t *testing.T) {
	b, err := os.ReadFile("../../docs/adapter-protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	page, seen := string(b), 0
	for line := range strings.Lines(page) {
		if out, ok := strings.CutPrefix(line, "    >> "); ok {
			checkStrict(t, out, new(order))
			seen++
		} else if in, ok := strings.CutPrefix(line, "    << "); ok {
			checkStrict(t, in, new(answer))
		}
	}
	if seen == 0 {
		t.Error("there is no example")
	}
	for _, do := range []string{doStart, doStatus, doLead, doPromote, doFollow, doKeys, doDelete} {
		if !strings.Contains(page, "| `"+do+"`") {
			t.Errorf("the page does not have the order %q", do)
		}
	}
}

func checkStrict(t *testing.T, line string, into any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		t.Errorf("%s: %v", line, err)
	}
}

// A server that answers late, writes garbage or ends must not be waited for,
// nor its answer be taken for that to a later order.
func TestOrders(t *testing.T) {
	start := func(script string) *bundledControl {
		t.Helper()
		cmd := exec.Command("sh", "-c", script)
		o, err := newBundledControl(cmd)
		if err != nil {
			t.Fatal(err)
		}
		if err := processes.Spawn(cmd); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			o.end()
			cmd.Process.Kill()
			cmd.Wait()
		})
		return o
	}
	short := func() context.Context {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		t.Cleanup(cancel)
		return ctx
	}
	o := start(`read a; read b; echo '{"id":1,"ok":true,"lead":"node-1"}'; echo '{"id":2,"error":"too late"}'; read c; echo garbage; exec sleep 9`)
	if _, err := o.ask(short(), order{Do: doStatus}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("no answer came: %v", err)
	}
	if _, err := o.ask(t.Context(), order{Do: doKeys}); err == nil || err.Error() != "too late" {
		t.Errorf("refused: %v", err)
	}
	if _, err := o.ask(t.Context(), order{Do: doKeys}); !errors.Is(err, errGone) || !strings.Contains(err.Error(), "no answer") {
		t.Errorf("garbage: %v", err)
	}
	if _, err := start(`read a`).ask(t.Context(), order{Do: doStart}); !errors.Is(err, errGone) {
		t.Errorf("the end: %v", err)
	}
}
