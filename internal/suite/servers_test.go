package suite_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9/logging"

	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/internal/play"
	"github.com/holdfast-go/holdfast/internal/redis/profile"
	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/holdfast-go/holdfast/reports/results"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// The kinds of the reference lock in the table of docs/servers.md.
var kindsOfReference = []string{"reentrant", "reentrant-wait", "multi", "fenced", "fair"}

// The page says how the reference lock does on each server as it is offered. A short test
// plays two of the servers; -update writes all rows again.
func TestTheServersPage(t *testing.T) {
	logging.Disable()
	const page, head = "../../docs/servers.md", "|---|---|---|---|---|---|\n"
	text, err := os.ReadFile(page)
	must.Succeed(t, err)
	before, rest, _ := strings.Cut(string(text), head)
	shown, after, _ := strings.Cut(rest, "\n\n")
	var rows []string
	for _, p := range profile.All() {
		if testing.Short() && !*update && !slices.Contains([]string{"redis-7-acl", "garnet"}, p.Name) {
			continue
		}
		row := rowOf(t, p.Name)
		if rows = append(rows, row); !*update && !slices.Contains(strings.Split(shown, "\n"), row) {
			t.Errorf("docs/servers.md lacks this row; -update writes it:\n%s", row)
		}
	}
	if *update {
		must.Succeed(t, os.WriteFile(page, []byte(before+head+strings.Join(rows, "\n")+"\n\n"+after), 0o644))
	}
}

// rowOf plays the catalogue with each kind on a server, and counts the runs whose verdicts
// are the expected ones.
func rowOf(t *testing.T, server string) string {
	t.Helper()
	row := "| " + server
	for _, name := range kindsOfReference {
		l, err := locks.MustFind(name).On(server)
		must.Succeed(t, err)
		runs, good := 0, 0
		for _, s := range scenarios.Catalogue() {
			if ok, _ := s.Applies(l); !ok {
				continue
			}
			p, err := play.Simulate(s, l, 1, "servers")
			must.Succeed(t, err)
			run := results.Run{Scenario: s.Name, Lock: name, World: "sim", Seed: 1}
			must.Succeed(t, suite.Judge(&run, s, l, p.History))
			if runs++; run.AsExpected {
				good++
			}
		}
		cell := "-"
		if runs > 0 {
			cell = fmt.Sprintf("%d of %d", good, runs)
		}
		row += " | " + cell
	}
	return row + " |"
}
