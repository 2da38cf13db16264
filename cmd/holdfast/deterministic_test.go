package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/internal/testworker"
)

func TestARunThatIsNotDeterministicIsADefect(t *testing.T) {
	t.Cleanup(func() { testOnlyWorker = "" })
	testOnlyWorker = testworker.Script(t, `n=$((n+1)); id=$(printf '%s\n' "$line" | sed 's/{"id":\([0-9]*\),.*/\1/')
echo "{\"id\":$id,\"run\":{\"lock\":\"reentrant\",\"as_expected\":true,\"history_sha256\":\"$n-$$\"}}"`)
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), []string{"run", "contention", "--lock", "reentrant", "--out", t.TempDir()}, strings.NewReader(""), &stdout, &stderr)
	if code != exitDefect || !strings.Contains(stderr.String(), "not deterministic: contention with reentrant, seed 1") {
		t.Errorf("exit %d, stderr:\n%s", code, &stderr)
	}
}
