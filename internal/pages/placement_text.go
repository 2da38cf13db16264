package pages

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/internal/search"
	"github.com/holdfast-go/holdfast/internal/search/exhaustive"
)

func (r Placement) Text(w io.Writer) error { return r.print(&printer{w: w}) }

// Markdown prints the results with tables as GitHub shows them.
func (r Placement) Markdown(w io.Writer) error { return r.print(&printer{w: w, markdown: true}) }

func (r Placement) print(to *printer) error {
	if r.Interrupted {
		to.print("Interrupted: not all placements were played.\n\n")
	}
	to.table(search.Table{Rows: r.counts()})
	to.titled("violated", causeRows(r.Violated))
	to.titled("inherent: no lock with these claims could have avoided it", causeRows(r.Inherent))
	if !to.markdown {
		to.titled("the first runs violated also", alsoRows(r.Violated))
	}
	unknown := [][]string{{"runs", "because"}}
	for _, why := range slices.Sorted(maps.Keys(r.Unknown)) {
		unknown = append(unknown, []string{fmt.Sprint(r.Unknown[why]), why})
	}
	to.titled("proved nothing", unknown)
	to.print("\nFaults: %s.\nDurations: %s.\nNot covered: %s.\n", strings.Join(r.Faults, ", "), strings.Join(r.Durations, "; "), strings.Join(r.NotCovered, "; "))
	to.print("\n%s\n", r.sentence())
	if all := r.Together(len(r.Shards)); all != "" {
		to.print("%s\n", all)
	}
	return to.err
}

func (r Placement) sentence() string {
	t := r.Total()
	what := map[bool]string{true: "pair of faults", false: "single fault"}[r.Depth > 1]
	part := "Every"
	if r.Interrupted {
		part = "Interrupted: part of every"
	}
	text := fmt.Sprintf("%s %s of %s: %s, %d played, %d inherent by %s, %d violated by %s, %d proved nothing; the audit played %d of those left out, and found %s; %s.",
		part, what, r.Lock, english.Count(len(r.Bases), "base"), t.Played, t.Inherent, english.Count(len(r.Inherent), "cause"),
		t.Violated, english.Count(len(r.Violated), "cause"), t.Unknown, r.Audit.Played, english.Count(len(r.Audit.Differences), "difference"),
		english.Span(time.Duration(r.WallMS)*time.Millisecond))
	if r.IsShard() {
		text = fmt.Sprintf("Shard %d of %d. ", r.Shard, r.Of) + text
	}
	return text
}

// counts is the table of the bases, with its head.
func (r Placement) counts() [][]string {
	rules := []struct{ rule, title string }{{exhaustive.Unavailable, "not available"}, {exhaustive.Absent, "target absent"}, {exhaustive.Idle, "idle links"}}
	if r.Depth > 1 {
		rules = append(rules, []struct{ rule, title string }{{exhaustive.OtherOrder, "other order"}, {exhaustive.SameFromThere, "same from there"}}...)
	}
	head := []string{"base", "moments", "placements"}
	for _, rule := range rules {
		head = append(head, rule.title)
	}
	rows := [][]string{append(head, "outlasted", "played", "not struck", "unknown", "inherent", "violated")}
	for _, b := range r.Bases {
		numbers := []int{b.Moments, b.Placements}
		for _, rule := range rules {
			numbers = append(numbers, b.NotPlayed[rule.rule])
		}
		numbers = append(numbers, b.Outlasted, b.Played, b.NotStruck, b.Unknown, b.Inherent, b.Violated)
		rows = append(rows, append([]string{b.Name}, english.Words(numbers, strconv.Itoa)...))
	}
	return rows
}

// alsoRows are the other violations of the first runs, with the head of their table.
// A cause that a simpler one explains is left out.
func alsoRows(causes []exhaustive.Cause) [][]string {
	rows := [][]string{{"first", "property", "because"}}
	for _, c := range causes {
		if c.Under != "" {
			continue
		}
		for _, o := range c.Also {
			rows = append(rows, []string{c.First, string(o.Property), o.Reason})
		}
	}
	return rows
}

// after are the faults that had struck by the moment of the violation.
func after(c exhaustive.Cause) string {
	switch {
	case len(c.Faults) > 0:
		return strings.Join(c.Faults, ", ")
	case c.Bare():
		return "without any"
	}
	return "none before"
}

func causeRows(causes []exhaustive.Cause) [][]string {
	rows := [][]string{{"runs", "property", "faults", "at", "because", "first"}}
	for _, c := range causes {
		first := c.First
		switch {
		case c.Shrunk != nil && c.Shrunk.Scenario != "":
			first = c.Shrunk.Scenario
		case c.Under != "":
			first = "see " + c.Under
		case c.File != "":
			first = c.File
		}
		rows = append(rows, []string{fmt.Sprint(c.Count), string(c.Property), after(c), mostlyAt(c), c.Class, first})
	}
	return rows
}

// mostlyAt is the kind of moment at which the last fault struck in most runs.
func mostlyAt(c exhaustive.Cause) string {
	kinds := slices.Sorted(maps.Keys(c.At))
	if len(kinds) == 0 {
		return "no moment"
	}
	most := slices.MaxFunc(kinds, func(a, b string) int { return c.At[a] - c.At[b] })
	if len(kinds) > 1 {
		return fmt.Sprintf("%s, and %d others", most, len(kinds)-1)
	}
	return most
}
