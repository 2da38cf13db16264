package reports

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/internal/story"
	"github.com/holdfast-go/holdfast/reports/results"
)

func (r *recorder) log(ms float64, server, text string) {
	r.add(ms, history.Event{Kind: history.Log, Log: &history.LogEvent{Server: server, Text: text}})
}

// liveStory is failoverStory on real servers, which write to their logs.
func liveStory() (*history.History, results.Run) {
	h, run := failoverStory()
	r := recorder{h: *h}
	end := r.h.Events[len(r.h.Events)-1]
	r.h.Events = r.h.Events[:len(r.h.Events)-1]
	r.h.Header.World, r.h.Header.TimeScale = "live", 0.2
	run.World, run.TimeScale, run.Attempts = "live", 0.2, 3
	r.log(3, "node-1", "* Ready to accept connections")
	for i, s := range []string{"sentinel-1", "sentinel-2", "sentinel-3"} {
		at := float64(i)
		r.log(5+at, s, "Sentinel ID is 4f0c"+s)
		r.log(6+at, s, "+monitor master node-1 127.0.0.1 40001 quorum 2")
		r.log(7+at, s, "+slave slave 127.0.0.1:40002 127.0.0.1 40002 @ node-1 127.0.0.1 40001")
		r.log(1710+at, s, "+sdown master node-1 127.0.0.1 40001")
		r.log(2190+at, s, "+switch-master node-1 127.0.0.1 40001 127.0.0.1 40002")
	}
	r.log(1715, "sentinel-2", "+odown master node-1 127.0.0.1 40001 #quorum 2/2")
	r.log(1716, "sentinel-2", "+vote-for-leader 4f0c 1")
	r.log(1800, "sentinel-2", "+elected-leader master node-1 127.0.0.1 40001")
	r.log(2000, "node-1-replica-1", "MASTER MODE enabled (user request from 'id=9 addr=127.0.0.1:5 <b>')")
	r.log(2100, "sentinel-2", "+promoted-slave slave 127.0.0.1:40002 127.0.0.1 40002 @ node-1 127.0.0.1 40001")
	r.h.Events = append(r.h.Events, end)
	slices.SortStableFunc(r.h.Events, func(a, b history.Event) int { return int(a.Time - b.Time) })
	return &r.h, run
}

// liveSample has a run on real servers, one whose servers did not start, and some
// that this machine could not play.
func liveSample() Document {
	h, good := liveStory()
	failed := results.Run{
		Scenario: "cluster-failover", Lock: "reentrant", World: "live", Seed: 1, TimeScale: 0.2,
		Failure: "start servers: node-2 is not ready after 5 s\n\nnode-2's log:\n" + strings.Repeat("1:M * Reading the configuration file\n", 50) +
			"1:M # Could not create server TCP listening socket 127.0.0.1:40001: bind: Address already in use",
		Verdicts: map[checker.Property]checker.Verdict{
			checker.Exclusion: {Outcome: checker.Unknown, Reason: "the run could not be set up"},
			checker.Progress:  {Outcome: checker.Unknown, Reason: "the run could not be set up"},
		},
		Expected: map[checker.Property]checker.Outcome{checker.Exclusion: checker.Violated, checker.Progress: checker.OutcomeOK},
		Stats:    results.Stats{WallMS: 5120},
	}
	other := good
	other.Lock = "fenced"
	skip := func(s, l string) results.Skip {
		return results.Skip{Scenario: s, Lock: l, Reason: "not run: moving the clock of a real server takes a C compiler, and there is none"}
	}
	return Document{
		Results: results.Results{Version: "1.2.3", Command: "holdfast run --world live", Runs: []results.Run{good, other, failed}, Skipped: []results.Skip{
			{Scenario: "cluster-failover", Lock: "fenced", Reason: "needs one primary"},
			skip("clock-jump", "reentrant"), skip("clock-jump", "fenced"), skip("clock-drift", "reentrant"), skip("clock-drift", "fenced"),
			{Scenario: "script-flush", Lock: "fenced", Reason: "not run: only in the simulator"},
		}},
		Histories: func(r results.Run) (*history.History, error) {
			if r.Failure != "" {
				return nil, nil
			}
			return h, nil
		},
	}
}

func TestLiveRuns(t *testing.T) {
	all := liveSample()
	one := func(i int) Document {
		d := liveSample()
		d.Results.Runs, d.Results.Skipped = d.Results.Runs[i:i+1], nil
		return d
	}
	for file, render := range map[string]func(*bytes.Buffer) error{
		"live.txt":        func(b *bytes.Buffer) error { return all.Text(b) },
		"live.md":         func(b *bytes.Buffer) error { return all.Markdown(b) },
		"live.xml":        func(b *bytes.Buffer) error { return JUnit(b, all.Results) },
		"live-one.txt":    func(b *bytes.Buffer) error { return one(0).Text(b) },
		"live-one.md":     func(b *bytes.Buffer) error { return one(0).Markdown(b) },
		"live-failed.txt": func(b *bytes.Buffer) error { return one(2).Text(b) },
	} {
		var b bytes.Buffer
		must.Succeed(t, render(&b))
		golden(t, file, b.Bytes())
	}
}

// A story of any length keeps the lines of servers about a change of the primary.
// It drops their other lines.
func TestStoryOfServers(t *testing.T) {
	h, r := liveStory()
	var told []string
	for _, s := range story.Tell(story.NewFacts(h), &r) {
		if s.Said != "" {
			told = append(told, s.Text)
		}
	}
	text := strings.Join(told, "\n")
	for _, want := range []string{"sentinel-2 says: +odown master", "sentinel-1, sentinel-2 and sentinel-3 say: +switch-master", "node-1-replica-1 says: MASTER MODE enabled"} {
		if !strings.Contains(text, want) {
			t.Errorf("not told: %s", want)
		}
	}
	for _, dull := range []string{"+slave", "+monitor", "Ready to accept", "Sentinel ID"} {
		if strings.Contains(text, "says: "+dull) {
			t.Errorf("told: %s", dull)
		}
	}
}

// A short story has room for every line of the servers.
func TestShortStoryKeepsSmallTalk(t *testing.T) {
	r := record("contention", "reentrant", history.Claims{})
	r.log(1, "node-1", "Ready to accept connections")
	told := story.Tell(story.NewFacts(r.end(2)), nil)
	if len(told) != 1 || told[0].Text != "node-1 says: Ready to accept connections" {
		t.Errorf("got %+v", told)
	}
}

// Results record how a live run was played, and survive writing and reading.
func TestLiveResultsAsJSON(t *testing.T) {
	var b bytes.Buffer
	must.Succeed(t, results.JSON(&b, liveSample().Results))
	for _, want := range []string{`"time_scale": 0.2`, `"attempts": 3`, `node-2's log:\n1:M`} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("not there: %s", want)
		}
	}
	if _, err := results.ReadJSON(&b); err != nil {
		t.Error(err)
	}
}

func TestLivePage(t *testing.T) {
	var b bytes.Buffer
	must.Succeed(t, liveSample().HTML(&b))
	for _, want := range []string{
		`<li class="said"><time>2.000 s</time><span>node-1-replica-1 says: MASTER MODE enabled (user request from &#39;id=9 addr=127.0.0.1:5 &lt;b&gt;&#39;)</span></li>`,
		`<pre class="tail">node-2&#39;s log:
(31 lines left out)`,
		`<p class="note">Not run with <b>any lock</b>: moving the clock`,
		"time scale 0.2 (a second of the scenario took 200 ms), attempt 3, the machine was too slow before",
		"<path class=said ",
		"--world live --time-scale 0.2",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("not in the page: %s", want)
		}
	}
}

// A reader needs the version of the servers to repeat a run, or to compare it
// with a real Redis.
func TestARunSaysWhatItsServersWere(t *testing.T) {
	_, run := liveStory()
	run.Backend = "miniredis"
	if got := Replay(&run); !strings.Contains(got, "--world live --backend miniredis") {
		t.Errorf("it is played again by %q", got)
	}
	if got := origin(&run); !strings.HasPrefix(got, "world live on miniredis, ") {
		t.Errorf("its provenance is %q", got)
	}
	var b bytes.Buffer
	must.Succeed(t, results.JSON(&b, results.Results{Runs: []results.Run{run}}))
	read, err := results.ReadJSON(&b)
	must.Succeed(t, err)
	if got := read.Runs[0].Backend; got != "miniredis" {
		t.Errorf("it is read back as %q", got)
	}
}
