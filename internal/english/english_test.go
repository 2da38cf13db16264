package english_test

import (
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/english"
)

// Reports and verdicts write numbers as people do.
func TestWords(t *testing.T) {
	for _, tt := range []struct{ got, want string }{
		{english.Count(0, "run"), "0 runs"},
		{english.Count(1, "run"), "1 run"},
		{english.Count(1200, "run"), "1200 runs"},
		{english.And(nil), ""},
		{english.And([]string{"a"}), "a"},
		{english.Or([]string{"a", "b"}), "a or b"},
		{english.And([]string{"a", "b", "c"}), "a, b and c"},
		{english.Span(0), "0 ms"},
		{english.Span(-1500 * time.Millisecond), "-1.5 s"},
		{english.Span(12345 * time.Nanosecond), "12.3 µs"},
		{english.Span(812 * time.Millisecond), "812 ms"},
		{english.Span(1204 * time.Millisecond), "1.2 s"},
		{english.Span(119 * time.Second), "119 s"},
		{english.Span(150 * time.Second), "2.5 minutes"},
		{english.Span(150 * time.Minute), "2.5 hours"},
		{english.Span(60 * time.Hour), "2.5 days"},
	} {
		if tt.got != tt.want {
			t.Errorf("%q, want %q", tt.got, tt.want)
		}
	}
}
