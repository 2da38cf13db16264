package adapter_test

import (
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/adapter"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// A harness asks an adapter what it has before it starts any server.
func TestDescribe(t *testing.T) {
	out := new(strings.Builder)
	err := adapter.Serve(t.Context(), strings.NewReader(`{"id":1,"do":"describe"}`+"\n"+`{"id":2,"do":"stop"}`+"\n"), out,
		adapter.Program{Locks: []locks.Description{{Name: "mine", Claims: history.Claims{Waits: true}}}})
	if err != nil || !strings.Contains(out.String(), `"locks":[{"name":"mine","claims":{"waits":true}}]`) {
		t.Errorf("it ended with %v after %q", err, out)
	}
}
