package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/internal/suite"
)

// longHistory is a history of 20 clients that take a correct lock in turns. Each
// asks for it while the one before has it.
func longHistory(ops int) *history.History {
	h := &history.History{Header: history.Header{
		Format: history.Format, Scenario: "long", Lock: "simulated", World: "sim", Seed: 1, Version: "test",
		Claims: history.Terms{Claims: history.Claims{Lease: true}, Quorum: 1, Nodes: 1, Handoff: 1e9},
	}}
	const turn = 1e6
	for i := range int64(ops / 2) {
		client := fmt.Sprintf("client-%d", 1+i%20)
		event := func(t int64, kind history.Kind, op int64, f history.Func) *history.Event {
			h.Events = append(h.Events, history.Event{Time: t, Kind: kind, Op: op, F: f, Client: client, Owner: client + "/1", Lock: "stock"})
			return &h.Events[len(h.Events)-1]
		}
		server := func(t int64, s history.ServerEvent) {
			s.Node, s.Role, s.Key, s.Cause, s.Command, s.By = "node-1", "primary", "stock", "command", "EVALSHA", client
			h.Events = append(h.Events, history.Event{Time: t, Kind: history.Server, Lock: "stock", Server: &s})
		}
		t := i * turn
		event(t, history.Invoke, 2*i+1, history.Acquire).Args = &history.Args{Lease: 1e9, Wait: 1e9}
		server(t+100, history.ServerEvent{Holder: client + "/1", Count: 1, TTL: 1e9})
		event(t+200, history.OK, 2*i+1, history.Acquire).Result = &history.Result{Count: 1}
		event(t+turn/2, history.Invoke, 2*i+2, history.Release)
		server(t+turn/2+100, history.ServerEvent{WasHolder: client + "/1", WasCount: 1, WasTTL: 1e9 - turn/2})
		event(t+turn/2+200, history.OK, 2*i+2, history.Release)
	}
	last := h.Events[len(h.Events)-1].Time
	h.Events = append(h.Events, history.Event{Time: last, Kind: history.End, End: &history.EndEvent{}})
	return h
}

// scriptLongHistory is longhistory FILE OPS.
func scriptLongHistory(ts *testscript.TestScript, _ bool, args []string) {
	var ops int
	_, err := fmt.Sscan(args[1], &ops)
	ts.Check(err)
	f, err := os.Create(ts.MkAbs(args[0]))
	ts.Check(err)
	if strings.HasSuffix(args[0], ".gz") {
		z := gzip.NewWriter(f)
		ts.Check(errors.Join(longHistory(ops).Encode(z), z.Close(), f.Close()))
		return
	}
	ts.Check(errors.Join(longHistory(ops).Encode(f), f.Close()))
}

// scriptCut is cut FILE TO: the first half of a file.
func scriptCut(ts *testscript.TestScript, _ bool, args []string) {
	b, err := os.ReadFile(ts.MkAbs(args[0]))
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), b[:len(b)/2], 0o644))
}

// A disagreement of judges is a defect of Holdfast, whatever else is wrong. The
// command prints the smallest history that shows it.
func TestDisagreementIsADefect(t *testing.T) {
	h := longHistory(2)
	judgeHistory = func(*history.History, checker.Options) (checker.Report, error) {
		return checker.Report{Verdicts: map[checker.Property]checker.Verdict{checker.Linearizable: {Outcome: checker.Unknown, Reason: "the judges disagree"}}},
			&checker.DisagreementError{Lock: "stock", Fast: checker.OutcomeOK, Porcupine: checker.Violated, Listing: []string{"client-1/1: acquire, count 1"}, Minimal: h}
	}
	defer func() { judgeHistory = checker.Judge }()
	path := filepath.Join(t.TempDir(), "h.jsonl")
	var file bytes.Buffer
	must.Succeed(t, h.Encode(&file))
	must.Succeed(t, os.WriteFile(path, file.Bytes(), 0o644))
	var stdout, stderr strings.Builder
	if code := run(context.Background(), []string{"check", path, filepath.Join(t.TempDir(), "nowhere")}, strings.NewReader(""), &stdout, &stderr); code != exitDefect {
		t.Errorf("exit %d", code)
	}
	said := stderr.String()
	for _, want := range []string{
		"  client-1/1: acquire, count 1\nthe same as a history:\n" + file.String(),
		"the judges disagree on lock \"stock\": fast says ok, porcupine violated",
		"nowhere: no such file", "hint: please report it, with the history and the version\n",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("no %q in\n%s", want, said)
		}
	}
	if !strings.Contains(stdout.String(), "linearizable") {
		t.Errorf("no verdicts: %s", stdout.String())
	}
}

// The command does not call a file damaged if reading fails for another reason.
func TestReadErrorIsItself(t *testing.T) {
	broken := errors.New("the disk is gone")
	_, err := suite.Decode("h", -1, history.Decode, io.MultiReader(strings.NewReader("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"), &failing{broken}))
	var damaged *suite.DamagedError
	if !errors.Is(err, broken) || errors.As(err, &damaged) {
		t.Errorf("got %v", err)
	}
}

type failing struct{ err error }

func (f *failing) Read([]byte) (int, error) { return 0, f.err }
