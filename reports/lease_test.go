package reports_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/reports"
	"github.com/holdfast-go/holdfast/reports/results"
)

var (
	drawnLease = regexp.MustCompile(`the lease of (client-\d+)(?:/\d+)? lasts from ([\d.]+ s) to ([\d.]+ s)`)
	overInLog  = regexp.MustCompile(`<time>([\d.]+ s)</time><span>node-1: the lease of (client-\d+) is over`)
)

// A lease ends once, wherever a reader looks: in the verdict, in the story, in the diagram
// and in the proof.
func TestALeaseEndsOnce(t *testing.T) {
	dir := t.TempDir()
	res, err := holdfast.Run(t.Context(), holdfast.Options{
		Scenarios: []string{"pause-in-acquire", "stale-grant", "holder-pause", "slow-holder"}, Locks: []string{"set-px-lua", "set-px-check", "set-px-renew"}, Dir: dir,
	})
	must.Succeed(t, err)
	told := 0
	for _, r := range res.Runs {
		if r.Verdicts[checker.Exclusion].Outcome != checker.Violated {
			continue
		}
		t.Run(r.Scenario+"/"+r.Lock, func(t *testing.T) {
			h, err := holdfast.ReadHistory(filepath.Join(dir, r.History))
			must.Succeed(t, err)
			leases, ends := map[string]bool{}, map[string]bool{}
			for _, b := range checker.Beliefs(h) {
				end := fmt.Sprintf("%.3f s", float64(b.LeaseTo)/1e9)
				leases[fmt.Sprintf("%s from %.3f s to %s", b.Client, float64(b.LeaseFrom)/1e9, end)] = true
				ends[b.Client+" "+end] = true
			}
			if r.Lock == "set-px-lua" && r.Scenario == "pause-in-acquire" && !leases["client-1 from 4.003 s to 6.003 s"] {
				t.Errorf("the checker has the leases %v", leases)
			}
			var page bytes.Buffer
			must.Succeed(t, (reports.Document{
				Results: results.Results{Runs: []results.Run{r}}, Histories: func(results.Run) (*history.History, error) { return h, nil },
			}).One(&page, true))
			diagram, proof, ok := strings.Cut(page.String(), "What proves it")
			if !ok {
				t.Fatal("the page has no proof")
			}
			for where, part := range map[string]string{"diagram": diagram, "proof": proof} {
				all := drawnLease.FindAllStringSubmatch(part, -1)
				if len(all) == 0 {
					t.Errorf("the %s draws no lease", where)
				}
				for _, m := range all {
					if drawn := fmt.Sprintf("%s from %s to %s", m[1], m[2], m[3]); !leases[drawn] {
						t.Errorf("the %s draws the lease of %s, and the checker has %v", where, drawn, leases)
					}
				}
			}
			for _, m := range overInLog.FindAllStringSubmatch(page.String(), -1) {
				if told++; !ends[m[2]+" "+m[1]] {
					t.Errorf("the story ends a lease of %s at %s, and the checker at %v", m[2], m[1], ends)
				}
			}
			if _, words, ok := strings.Cut(r.Verdicts[checker.Exclusion].Reason, "after its lease had ended at "); ok {
				if end := words[:strings.Index(words, " s")+2]; !ends["client-1 "+end] && !ends["client-2 "+end] {
					t.Errorf("the verdict ends the lease at %s, and the checker at %v", end, ends)
				}
			}
		})
	}
	if told == 0 {
		t.Error("no story ends a lease")
	}
}
