package liveplay

import (
	"os"
	"slices"
	"testing"

	"github.com/holdfast-go/holdfast/internal/must"
)

// An adapter is started with the words that its user wrote: quotes keep
// spaces, variables are read, and a pipe is refused instead of dropped.
func TestTheWordsOfAnAdapterCommand(t *testing.T) {
	exe, err := os.Executable()
	must.Succeed(t, err)
	t.Setenv("ADAPTER", exe)
	for _, tt := range []struct {
		command string
		want    []string // without the program; nil: refused
	}{
		{"$ADAPTER", []string{}},
		{"$ADAPTER serve --host 'a b' \"c d\" e\\ f", []string{"serve", "--host", "a b", "c d", "e f"}},
		{"  $ADAPTER  '' ", []string{""}},
		{"'" + exe + "' 'a | b'", []string{"a | b"}},
		{"$ADAPTER | tee log", nil},
		{"$ADAPTER 2> log", nil},
		{"$ADAPTER 'open", nil},
		{" ", nil},
	} {
		got, err := Command(tt.command)
		switch {
		case tt.want == nil && err == nil:
			t.Errorf("%s: read as %q, want an error", tt.command, got)
		case tt.want != nil && err != nil:
			t.Errorf("%s: %v", tt.command, err)
		case tt.want != nil && (got[0] != exe || !slices.Equal(got[1:], tt.want)):
			t.Errorf("%s: read as %q, want %q with %q", tt.command, got, exe, tt.want)
		}
	}
}
