package suite

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/internal/must"
)

// A file that grows is read on; one that shrinks is an error.
func TestGrowing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h")
	put := func(flags int, text string) {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|flags, 0o644)
		if err == nil {
			_, err = f.WriteString(text)
			f.Close()
		}
		if err != nil {
			t.Error(err)
		}
	}
	put(0, "one\n")
	f, err := os.Open(path)
	must.Succeed(t, err)
	defer f.Close()
	ctx, cancel := context.WithCancel(t.Context())
	g := Growing(ctx, f)
	b := make([]byte, 20)
	for _, want := range []string{"one\n", "two\n"} {
		n, err := g.Read(b)
		if string(b[:n]) != want || err != nil {
			t.Fatalf("got %q, %v", b[:n], err)
		}
		if want == "one\n" {
			go put(os.O_APPEND, "two\n")
		}
	}
	put(os.O_TRUNC, "new\n")
	if n, err := g.Read(b); n > 0 || err == nil || !strings.Contains(err.Error(), "shorter") {
		t.Errorf("after the file became shorter: %q, %v", b[:n], err)
	}
	put(os.O_APPEND, "new\n")
	cancel()
	if n, err := g.Read(b); n > 0 || err == nil {
		t.Errorf("after the end: %q, %v", b[:n], err)
	}
}
