package testworker

import (
	"os"
	"path/filepath"
	"testing"
)

// Script is the path of a worker process that runs a shell script for every job.
// The script finds the job in $line.
func Script(t *testing.T, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "worker")
	text := "#!/bin/sh\nwhile read -r line; do\n" + script + "\ndone\n"
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}
