package reports_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/reports"
	"github.com/holdfast-go/holdfast/scenarios"
)

func TestZZReal(t *testing.T) {
	files, _ := filepath.Glob("/tmp/scn/*.yaml")
	var d reports.Document
	hs := map[string]*checker.History{}
	for _, f := range files {
		src, _ := os.ReadFile(f)
		s, err := scenarios.Parse(f, src)
		if err != nil {
			t.Error(err)
			continue
		}
		d.About = append(d.About, reports.About{Name: s.Name, Title: s.Title, Story: s.Story})
		for _, l := range scenarios.Locks() {
			p, err := scenarios.Play(s, l, 1, "t")
			if err != nil {
				fmt.Println(l, err)
				continue
			}
			r, err := checker.Judge(p.History, checker.Options{})
			run := reports.Run{Scenario: s.Name, Lock: l, World: "sim", Seed: 1, AsExpected: true, Verdicts: r.Verdicts, Stats: reports.Stats{Ops: len(p.History.Events)}}
			if err != nil {
				run.Failure = err.Error()
			}
			hs[s.Name+l] = p.History
			d.Results.Runs = append(d.Results.Runs, run)
		}
	}
	d.Histories = func(r reports.Run) (*checker.History, error) { return hs[r.Scenario+r.Lock], nil }
	o, _ := os.Create("/tmp/rep/real.html")
	if err := reports.HTML(o, d); err != nil {
		t.Fatal(err)
	}
	o.Close()
	reports.Text(os.Stdout, d)
	for _, r := range d.Results.Runs {
		if r.Lock == "reentrant" || r.Scenario == "holder-pause" && r.Lock == "set-px" {
			x := d
			x.Results.Runs = []reports.Run{r}
			reports.Text(os.Stdout, x)
		}
	}
}
