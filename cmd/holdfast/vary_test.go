package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/internal/testworker"
)

func TestVariationsThatSurpriseEndTheCommand(t *testing.T) {
	for _, tt := range []struct {
		name, verdicts string
		code           int
		says           string
	}{
		{"nothing", ``, exitOK, ""},
		{"a false alarm", `case $seed in 3) verdicts='"exclusion":{"verdict":"violated"}';; esac`, exitUnexpected, "1 false alarm and 0 missed violations"},
		{"a missed violation", `verdicts='"lease":{"verdict":"ok"}'`, exitUnexpected, "0 false alarms and 4 missed violations"},
		{"unknown", `case $seed in 3) verdicts='"exclusion":{"verdict":"unknown"}';; esac`, exitUnknown, "1 verdict unknown"},
		{"a run that never ends", `case $seed in 3) exit 2;; esac`, exitUnexpected, "1 false alarm"},
		{"no verdict at all", `case $seed in 3) verdicts=;; esac`, exitDefect, "seed 3: nothing was judged"},
		{"a defect", `case $seed in 3) more=',"defect":"the judges disagree"';; esac`, exitDefect, "seed 3: the judges disagree"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Cleanup(func() { testOnlyWorker = "" })
			testOnlyWorker = testworker.Script(t, answering(tt.verdicts))
			var stdout, stderr bytes.Buffer
			code := run(t.Context(), []string{"selftest", "vary", "contention", "--lock", "reentrant", "--seeds", "4"}, strings.NewReader(""), &stdout, &stderr)
			if code != tt.code || !strings.Contains(stderr.String(), tt.says) {
				t.Errorf("exit %d, want %d and %q in:\n%s%s", code, tt.code, tt.says, &stdout, &stderr)
			}
		})
	}
}
