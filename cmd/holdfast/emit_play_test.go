package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/internal/search/explore"
)

// script is the program that an engine starts for one shard, with its arguments.
type script struct {
	shell []string // the script comes last
	dir   string
	env   []string
}

func (s script) run(t *testing.T) int {
	t.Helper()
	c := exec.CommandContext(t.Context(), s.shell[0], s.shell[1:]...)
	c.Dir, c.Env = s.dir, append(os.Environ(), s.env...)
	out, err := c.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%v: %s", err, out)
	}
	t.Logf("%s", out)
	return c.ProcessState.ExitCode()
}

// onKubernetes starts a shard as the emitted job does.
func onKubernetes(t *testing.T, index int, dir string, args ...string) script {
	t.Helper()
	j := read[emittedJob](t, emitted(t, append(args, "--emit=k8s")...))
	return script{shell: j.Spec.Template.Spec.Containers[0].Command, dir: dir, env: []string{fmt.Sprintf("JOB_COMPLETION_INDEX=%d", index)}}
}

// onGitHub runs a step as GitHub does after it has built ./holdfast.
func onGitHub(t *testing.T, job, step string, index int, dir string, args ...string) script {
	t.Helper()
	if _, err := exec.LookPath("bash"); err != nil {
		if os.Getenv("HOLDFAST_REQUIRE_BASH") != "" {
			t.Fatal(err)
		}
		t.Skip("no bash here, which GitHub runs steps with")
	}
	w := read[emittedWorkflow](t, emitted(t, append(args, "--emit=github")...))
	text := w.step(t, job, step)
	if job == "explore" {
		text = strings.ReplaceAll(text, "${{ matrix.shard }}", fmt.Sprint(w.Jobs[job].Strategy.Matrix.Shard[index]))
	}
	exe, err := exec.LookPath("holdfast")
	must.Succeed(t, err)
	if err := os.Symlink(exe, filepath.Join(dir, "holdfast")); err != nil && !os.IsExist(err) {
		t.Fatal(err)
	}
	return script{shell: []string{"bash", "-e", "-c", text}, dir: dir}
}

// The shards of an emitted exploration leave results of disjoint seeds, which
// together are all of them. A find fails no shard.
func TestTheShardsOfAnEmittedExploration(t *testing.T) {
	const shards, runs = 3, 24
	args := []string{"--lock=set-px-lua", "--seed=7", "--all", "--shrink=false", "--workers=1", fmt.Sprintf("--runs=%d", runs), fmt.Sprintf("--shards=%d", shards)}
	for engine, shard := range map[string]struct {
		results string
		script  func(index int, dir string) script
	}{
		"k8s":    {"set-px-lua-7", func(i int, dir string) script { return onKubernetes(t, i, dir, args...) }},
		"github": {".", func(i int, dir string) script { return onGitHub(t, "explore", "explore", i, dir, args...) }},
	} {
		dir, played, finds := t.TempDir(), 0, 0
		for i := range shards {
			if code := shard.script(i, dir).run(t); code != 0 {
				t.Errorf("%s: shard %d ended with %d", engine, i+1, code)
			}
			r := readResults(t, filepath.Join(dir, shard.results, fmt.Sprintf("shard-%d", i+1)))
			if r.Shard != i+1 || r.Of != shards || r.Seed != 7 {
				t.Errorf("%s: shard %d/%d from seed %d, want %d/%d from 7", engine, r.Shard, r.Of, r.Seed, i+1, shards)
			}
			played += r.Runs
			for _, c := range r.Causes {
				finds++
				if got := int(c.FirstSeed-7) % shards; got != i {
					t.Errorf("%s: shard %d played seed %d, which is one of shard %d", engine, i+1, c.FirstSeed, got+1)
				}
			}
		}
		if played != runs || finds == 0 {
			t.Errorf("%s: %d runs with %d finds, want all %d, with some", engine, played, finds, runs)
		}
	}
}

func readResults(t *testing.T, dir string) explore.Results {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "explore.json"))
	must.Succeed(t, err)
	var r explore.Results
	must.Succeed(t, json.Unmarshal(text, &r))
	return r
}

// A find does not fail a shard. Every other exit code stays, so that the engine
// knows when to try again.
func TestTheExitCodeOfAnEmittedShard(t *testing.T) {
	for _, tt := range []struct{ holdfast, want int }{
		{exitOK, 0}, {exitUnexpected, 0}, {exitUsage, exitUsage}, {exitUnknown, exitUnknown}, {exitDefect, exitDefect}, {137, 137},
	} {
		bin := fake(t, fmt.Sprintf("exit %d", tt.holdfast))
		if code := onKubernetes(t, 0, bin, "--lock=reentrant").with(bin).run(t); code != tt.want {
			t.Errorf("k8s: holdfast ends with %d, the shard with %d, want %d", tt.holdfast, code, tt.want)
		}
		if code := onGitHub(t, "explore", "explore", 0, bin, "--lock=reentrant").run(t); code != tt.want {
			t.Errorf("github: holdfast ends with %d, the shard with %d, want %d", tt.holdfast, code, tt.want)
		}
	}
}

// The summary of a workflow has the output of merge, including bad news. The
// workflow ends as merge does.
func TestTheWorkflowTellsWhatMergeSays(t *testing.T) {
	dir := fake(t, `echo "merged: $*"; exit 1`)
	must.Succeed(t, os.MkdirAll(filepath.Join(dir, "shards", "shard-2"), 0o755))
	s := onGitHub(t, "merge", "merge", 0, dir, "--lock=reentrant")
	summary := filepath.Join(dir, "summary.md")
	s.env = []string{"GITHUB_STEP_SUMMARY=" + summary}
	if code := s.run(t); code != exitUnexpected {
		t.Errorf("the step ended with %d, want that of merge, %d", code, exitUnexpected)
	}
	text, err := os.ReadFile(summary)
	must.Succeed(t, err)
	if want := "```\nmerged: merge shards/shard-2 --out all\n```\n"; string(text) != want {
		t.Errorf("the summary is %q, want %q", text, want)
	}
}

// fake is a directory with a script named holdfast.
func fake(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	must.Succeed(t, os.WriteFile(filepath.Join(dir, "holdfast"), []byte("#!/bin/sh\n"+text+"\n"), 0o755))
	return dir
}

// with is the script with a directory first on its PATH.
func (s script) with(bin string) script {
	s.env = append(s.env, "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	return s
}
