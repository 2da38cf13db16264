package live

import (
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/must"
)

// The shadow has no command that compares. The server reports only commands that found their
// value, so the shadow changes the key without a look.
func TestTheShadowFollowsCommandsThatCompare(t *testing.T) {
	now := time.Unix(1000, 0)
	s, err := newShadow()
	must.Succeed(t, err)
	defer s.close()
	for _, c := range []struct {
		request []string
		want    string // the value, "" for none
	}{
		{[]string{"SET", "k", "a", "PX", "9000"}, "a"},
		{[]string{"set", "k", "b", "ifeq", "a", "PX", "5000"}, "b"},
		{[]string{"DELIFEQ", "k", "b"}, ""},
		{[]string{"SET", "k", "ifeq", "NX"}, "ifeq"},
		{[]string{"DELEX", "k", "IFEQ", "ifeq"}, ""},
	} {
		must.Succeed(t, s.replay(c.request, []string{"k"}, now))
		if got := s.state["k"]; got.String() != c.want && (c.want != "" || got.Exists()) {
			t.Errorf("after %q the key holds %q, not %q", c.request, got, c.want)
		}
		if c.want == "b" && !s.state["k"].ExpireAt.Equal(now.Add(5*time.Second)) {
			t.Errorf("after %q the key expires at %s", c.request, s.state["k"].ExpireAt)
		}
	}
}
