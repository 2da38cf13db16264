package servers

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/adapter/bundled"
	"github.com/holdfast-go/holdfast/internal/live/processes"
	"github.com/holdfast-go/holdfast/internal/must"
)

// startControl starts a shell script that takes orders.
func startControl(t *testing.T, script string) *bundledControl {
	t.Helper()
	cmd := exec.Command("sh", "-c", script)
	o, err := newBundledControl(cmd)
	must.Succeed(t, err)
	must.Succeed(t, processes.Spawn(cmd))
	t.Cleanup(func() {
		o.end()
		cmd.Process.Kill()
		cmd.Wait()
	})
	return o
}

// A run may have a free lock beside the one whose key is deleted.
func TestDeletesTheHoldsThatThereAre(t *testing.T) {
	srv := &Server{Name: "node-1", proc: &process{control: startControl(t,
		`read a; echo '{"id":1,"ok":true}'; read b; echo '{"id":2,"error":"nobody"}'; read c; echo '{"id":3,"error":"nobody"}'; exec sleep 9`)}}
	must.Succeed(t, srv.deleteBundled(t.Context(), []string{"stock", "till"}))
	if err := srv.deleteBundled(t.Context(), []string{"stock"}); err == nil {
		t.Error("no hold was deleted, and there is no error")
	}
}

// A server that answers late, writes garbage or ends must not be waited for,
// nor its answer be taken for that to a later order.
func TestOrders(t *testing.T) {
	start := func(script string) *bundledControl { return startControl(t, script) }
	short := func() context.Context {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		t.Cleanup(cancel)
		return ctx
	}
	o := start(`read a; read b; echo '{"id":1,"ok":true,"lead":"node-1"}'; echo '{"id":2,"error":"too late"}'; read c; echo garbage; exec sleep 9`)
	if _, err := o.ask(short(), bundled.Order{Do: bundled.Status}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("no answer came: %v", err)
	}
	if _, err := o.ask(t.Context(), bundled.Order{Do: bundled.Keys}); err == nil || err.Error() != "too late" {
		t.Errorf("refused: %v", err)
	}
	if _, err := o.ask(t.Context(), bundled.Order{Do: bundled.Keys}); !errors.Is(err, errGone) || !strings.Contains(err.Error(), "no answer") {
		t.Errorf("garbage: %v", err)
	}
	if _, err := start(`read a`).ask(t.Context(), bundled.Order{Do: bundled.Start}); !errors.Is(err, errGone) {
		t.Errorf("the end: %v", err)
	}
}
