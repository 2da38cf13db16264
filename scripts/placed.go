//go:build ignore

// Command placed prints a table with one row for each directory of results of
// holdfast explore --exhaustive. docs/exhaustive.md shows the table.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/internal/search/exhaustive"
)

func main() {
	fmt.Println("| lock | part | bases | played | inherent | violated | by causes | proved nothing | audited | differences | time |")
	fmt.Println("|---|---|---|---|---|---|---|---|---|---|---|")
	for _, dir := range os.Args[1:] {
		r, err := exhaustive.Read(dir)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		name, part, t := filepath.Base(dir), "all", r.Total()
		if r.Of > 1 && r.Shard > 0 {
			part = fmt.Sprintf("%d of %d", r.Shard, r.Of)
		}
		fmt.Printf("| [%s](tables/exhaustive.md#%s) | %s | %d | %d | %d | %d | %d | %d | %d | %d | %s |\n",
			name, name, part, len(r.Bases), t.Played, t.Inherent, t.Violated, len(r.Violated), t.Unknown,
			r.Audit.Played, len(r.Audit.Differences), english.Span(time.Duration(r.WallMS)*time.Millisecond))
	}
}
