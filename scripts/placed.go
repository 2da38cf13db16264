//go:build ignore

// Command placed writes three tables of directories of results of holdfast explore
// --exhaustive. DIR/rows has one row for each directory, and DIR/violated and
// DIR/inherent have one for each violated property. docs/exhaustive.md and
// docs/tables/exhaustive.md show them.
//
// Usage: placed DIR RESULTS...
package main

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/internal/search/exhaustive"
)

// mostFaults is the largest number of faults in a row.
const mostFaults = 6

func main() {
	var rows, violated, inherent strings.Builder
	rows.WriteString("| lock | part | bases | played | inherent | violated | by causes | proved nothing | audited | differences | time |\n" +
		"|---|---|---|---|---|---|---|---|---|---|---|\n")
	for _, b := range []*strings.Builder{&violated, &inherent} {
		b.WriteString("| lock | property | runs | causes | after, most often first |\n|---|---|---:|---:|---|\n")
	}
	for _, dir := range os.Args[2:] {
		r, err := exhaustive.Kind.Read(dir)
		exitOn(err)
		name := filepath.Base(dir)
		writeRow(&rows, name, r)
		writeCauses(&violated, name, r.Violated)
		writeCauses(&inherent, name, r.Inherent)
	}
	for file, b := range map[string]*strings.Builder{"rows": &rows, "violated": &violated, "inherent": &inherent} {
		exitOn(os.WriteFile(filepath.Join(os.Args[1], file), []byte(b.String()), 0o644))
	}
}

func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func writeRow(b *strings.Builder, name string, r exhaustive.Results) {
	part, t := "all", r.Total()
	if r.IsShard() {
		part = fmt.Sprintf("%d of %d", r.Shard, r.Of)
	}
	fmt.Fprintf(b, "| %s | %s | %d | %d | %d | %d | %d | %d | %d | %d | %s |\n",
		name, part, len(r.Bases), t.Played, t.Inherent, t.Violated, len(r.Violated), t.Unknown,
		r.Audit.Played, len(r.Audit.Differences), english.Span(time.Duration(r.WallMS)*time.Millisecond))
}

// writeCauses sums up causes by property, those seen most often first.
func writeCauses(b *strings.Builder, name string, causes []exhaustive.Cause) {
	type sum struct {
		runs, causes int
		faults       map[string]int // by the runs after them
	}
	sums := map[checker.Property]*sum{}
	for _, c := range causes {
		s := sums[c.Property]
		if s == nil {
			s = &sum{faults: map[string]int{}}
			sums[c.Property] = s
		}
		s.runs += c.Count
		s.causes++
		for _, f := range c.Faults {
			s.faults[f] += c.Count
		}
		if len(c.Faults) == 0 {
			s.faults["no fault"] += c.Count
		}
	}
	for _, p := range slices.SortedFunc(maps.Keys(sums), func(x, y checker.Property) int {
		return cmp.Or(cmp.Compare(sums[y].runs, sums[x].runs), cmp.Compare(x, y))
	}) {
		s := sums[p]
		faults := slices.SortedFunc(maps.Keys(s.faults), func(x, y string) int {
			return cmp.Or(cmp.Compare(s.faults[y], s.faults[x]), cmp.Compare(x, y))
		})
		after := strings.Join(faults[:min(len(faults), mostFaults)], ", ")
		if more := len(faults) - mostFaults; more > 0 {
			after += fmt.Sprintf(", and %d more", more)
		}
		fmt.Fprintf(b, "| %s | %s | %d | %d | %s |\n", name, p, s.runs, s.causes, after)
	}
}
