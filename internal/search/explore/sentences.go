package explore

import (
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/internal/search"
)

func (r Results) Sentences() []string {
	if r.Violated == 0 {
		return []string{r.confidence(), r.Totals()}
	}
	return []string{r.Totals()}
}

// confidence says what it means that nothing was found.
func (r Results) confidence() string {
	judged := r.Runs - r.Unknown
	struck := english.Words(r.Strikes, func(s Strikes) string { return fmt.Sprintf("%s %d", s.Fault, s.Runs) })
	return fmt.Sprintf("No violation in %s: with 95 %% confidence fewer than 1 in %.0f runs like these has one. Runs in which each fault struck: %s.",
		english.Count(judged, "run"), 1/search.UpperBound(judged), strings.Join(struck, ", "))
}

// Totals sums the results up in a sentence.
func (r Results) Totals() string {
	rate := 0.0
	if r.WallMS > 0 {
		rate = float64(r.Runs) / r.WallMS * 1000
	}
	text := fmt.Sprintf("%s of %s: %d violated a promise, by %s; %d proved nothing. %s of virtual time and %s in %s, %.0f runs/s.",
		english.Count(r.Runs, "run"), r.Lock, r.Violated, english.Count(len(Distinct(r.Causes)), "hazard"), r.Unknown,
		Span(r.VirtualMS), english.Count(r.Ops, "operation"), Span(r.WallMS), rate)
	if r.IsShard() {
		text = fmt.Sprintf("shard %d of %d: ", r.Shard, r.Of) + text
	}
	return text
}

func Span(ms float64) string { return english.Span(time.Duration(ms * float64(time.Millisecond))) }
