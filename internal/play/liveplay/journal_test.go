package liveplay

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/internal/play"
)

func journaled(t *testing.T, path string) *history.History {
	t.Helper()
	text, err := os.ReadFile(path)
	must.Succeed(t, err)
	h, err := history.DecodeCutOff(bytes.NewReader(text))
	if err != nil {
		t.Fatalf("what is recorded cannot be read: %v\n%s", err, text)
	}
	return h
}

// hold records that client-1 takes the lock and gives it back, in 200 ms, and
// what the server tells of it, late.
func hold(r *play.Recorder, late time.Duration) {
	server := func(s history.ServerEvent) {
		at := time.Now()
		s.Node, s.Role, s.Key, s.Cause, s.Command, s.By = "node-1", "primary", "stock", "command", "EVALSHA", "client-1"
		time.AfterFunc(late, func() { r.AddAt(history.Event{Kind: history.Server, Lock: "stock", Server: &s}, at) })
	}
	about := history.Event{Client: "client-1", Owner: "client-1/1", Lock: "stock"}
	step := func() { time.Sleep(50 * time.Millisecond) }

	acquire := about
	acquire.F = history.Acquire
	acquire = r.Invoke(acquire, &history.Args{Lease: 1e9, Wait: 1e9})
	step()
	server(history.ServerEvent{Holder: "client-1/1", Count: 1, TTL: 1e9})
	step()
	r.Finish(acquire, history.OK, history.Result{Count: 1})
	release := about
	release.F = history.Release
	release = r.Invoke(release, nil)
	step()
	server(history.ServerEvent{WasHolder: "client-1/1", WasCount: 1, WasTTL: 9e8})
	step()
	r.Finish(release, history.OK, history.Result{})
}

// Whenever a harness is killed, what it had recorded until shortly before can
// be judged.
func TestJournalCanBeJudgedAtAnyTime(t *testing.T) {
	for name, late := range map[string]time.Duration{
		"servers tell at once": 0, "servers tell late": 300 * time.Millisecond, "servers tell too late": 700 * time.Millisecond,
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "of", "lock-seed-1.jsonl.part")
			synctest.Test(t, func(t *testing.T) { keepJournal(t, path, late) })
		})
	}
}

func keepJournal(t *testing.T, path string, late time.Duration) {
	begin := time.Now()
	r := play.NewRecorder(begin)
	header := history.Header{
		Format: history.Format, Scenario: "long", Lock: "simulated", World: "live", Seed: 1, Version: "test",
		Claims: history.Terms{Claims: history.Claims{Lease: true}, Quorum: 1, Nodes: 1, Handoff: 1e9},
	}
	j, err := openJournal(path, header, r)
	must.Succeed(t, err)
	go func() {
		for range 20 {
			hold(r, late)
		}
	}()
	before := []history.Event{}
	for time.Since(begin) < 6*time.Second {
		time.Sleep(37 * time.Millisecond)
		synctest.Wait()
		h := journaled(t, path)
		events := h.Events[:len(h.Events)-1] // all but the end
		if len(events) < len(before) || cmp.Diff(before, events[:len(before)]) != "" {
			t.Fatalf("at %s the journal has lost what it had", time.Since(begin))
		}
		before = slices.Clone(events)
		whole, seen := time.Since(begin)-journalLag-journalEvery, time.Duration(0)
		for _, e := range events {
			seen = max(seen, time.Duration(e.Time))
		}
		if whole < 4*time.Second && seen < whole-100*time.Millisecond {
			t.Fatalf("at %s the journal ends at %s", time.Since(begin), seen)
		}
		var invalid *history.InvalidError
		if _, err := checker.Judge(h, checker.Options{}); errors.As(err, &invalid) {
			t.Fatalf("at %s: %v", time.Since(begin), err)
		}
	}
	r.End(history.EndEvent{}, time.Since(begin))
	if late < journalLag { // the history is made of it
		if d := cmp.Diff(r.Events[:len(before)], before); d != "" {
			t.Errorf("the journal is not the history: %s", d)
		}
	}
	if len(before) != 20*6 {
		t.Errorf("the journal has %d events of %d", len(before), 20*6)
	}
	if err := j.close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the journal is still there: %v", err)
	}
}

func TestNoJournal(t *testing.T) {
	j, err := openJournal("", history.Header{}, nil)
	if j != nil || err != nil || j.close() != nil {
		t.Errorf("%v, %v", j, err)
	}
}

func TestJournalThatCannotBeWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	must.Succeed(t, os.WriteFile(file, nil, 0o600))
	if _, err := openJournal(filepath.Join(file, "below"), history.Header{}, nil); err == nil {
		t.Error("a journal below a file was opened")
	}
}
