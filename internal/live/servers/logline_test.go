package servers

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestTheLogsOfAllServersAreOneStory(t *testing.T) {
	t.Parallel()
	before := time.Now().Add(-time.Millisecond) // servers cut off what is less
	s := start(t, Options{Groups: 1, Replicas: 1, Sentinel: true})
	check(t, s.StopNode("node-1"))
	replaced(t, s, "node-1")
	lines, err := s.LogLines()
	check(t, err)
	after := time.Now()
	find := func(server, text string) int {
		t.Helper()
		i := slices.IndexFunc(lines, func(l LogLine) bool {
			return (server == "" || l.Server == server) && strings.HasPrefix(l.Text, text)
		})
		if i < 0 {
			t.Fatalf("no line of %q begins with %q", server, text)
		}
		return i
	}
	ready, odown, switched := find("node-1", "Ready to accept connections"), find("", "+odown master node-1"), find("", "+switch-master node-1")
	if ready >= odown || odown >= switched {
		t.Errorf("the lines are in another order: %d, %d, %d", ready, odown, switched)
	}
	for _, l := range lines {
		if l.At.Before(before) || l.At.After(after) {
			t.Errorf("%s said at %s, which is not between %s and %s: %s", l.Server, l.At, before, after, l.Text)
		}
	}
}

func TestLinesOfAServerWithAClockOfItsOwnHaveTheTrueTime(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c, err := newClock(dir, "")
	check(t, err)
	srv := &Server{Name: "node-1", clock: c}
	stamp := func(d time.Duration) string { return "7:M " + time.Now().Add(d).Format(logTime) + " * " }
	log := stamp(0) + "one\n"
	check(t, c.set(-time.Hour, 1))
	log += stamp(-time.Hour) + "two\n\n=== BUG REPORT ===\n"
	check(t, c.set(2*time.Hour, 1))
	log += stamp(time.Hour) + "three\n"
	now := time.Now()
	var texts []string
	for _, l := range srv.logLines(log, now) {
		texts = append(texts, l.Text)
		if off := now.Sub(l.At); off < -time.Millisecond || off > time.Second {
			t.Errorf("%q was said %s ago", l.Text, off)
		}
	}
	if want := []string{"one", "two", "=== BUG REPORT ===", "three"}; !slices.Equal(texts, want) {
		t.Errorf("the lines are %q, want %q", texts, want)
	}
}
