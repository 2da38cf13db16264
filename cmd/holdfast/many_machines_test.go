package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/holdfast-go/holdfast/internal/must"
)

const manyMachines = "../../examples/many-machines/"

// shardScripts are the scripts that play a shard of the examples: shard 2 of 50 on
// Kubernetes, and of 16 on GitHub.
func shardScripts(t *testing.T) map[string]string {
	t.Helper()
	var job struct {
		Spec struct {
			Completions, Parallelism int
			Template                 struct {
				Spec struct {
					Containers []struct{ Command []string }
				}
			}
		}
	}
	var flow struct {
		Jobs map[string]struct {
			Strategy struct{ Matrix struct{ Shard []int } }
			Steps    []struct{ Name, Run string }
		}
	}
	for name, v := range map[string]any{"job.yaml": &job, "workflow.yaml": &flow} {
		text, err := os.ReadFile(manyMachines + name)
		must.Succeed(t, err)
		must.Succeed(t, yaml.Unmarshal(text, v))
	}
	if job.Spec.Completions != 50 || job.Spec.Parallelism != 50 || len(flow.Jobs["explore"].Strategy.Matrix.Shard) != 16 {
		t.Errorf("%d completions, %d in parallel, matrix %v", job.Spec.Completions, job.Spec.Parallelism, flow.Jobs["explore"].Strategy.Matrix.Shard)
	}
	scripts := map[string]string{"/50": "JOB_COMPLETION_INDEX=1\n" + job.Spec.Template.Spec.Containers[0].Command[2]}
	for _, s := range flow.Jobs["explore"].Steps {
		if s.Name == "explore" {
			scripts["/16"] = strings.NewReplacer("${{ matrix.shard }}", "2", "./holdfast", "holdfast").Replace(s.Run)
		}
	}
	if len(scripts) != 2 {
		t.Fatalf("scripts: %v", scripts)
	}
	return scripts
}

// A find is the result of a shard and must not fail it. With any other exit code the
// engine must see the failure, so that it plays the shard again or names it.
func TestAShardOfTheExampleEndsAsItShould(t *testing.T) {
	for of, script := range shardScripts(t) {
		for _, tt := range []struct{ holdfast, want int }{{exitOK, 0}, {exitUnexpected, 0}, {exitUsage, exitUsage}, {exitDefect, exitDefect}, {137, 137}} {
			dir := t.TempDir()
			must.Succeed(t, os.WriteFile(filepath.Join(dir, "holdfast"), fmt.Appendf(nil, "#!/bin/sh\necho \"$@\" >args\nexit %d\n", tt.holdfast), 0o755))
			sh := exec.CommandContext(t.Context(), "sh", "-ec", script)
			sh.Dir, sh.Env = dir, append(os.Environ(), "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"))
			_ = sh.Run() // the exit code says what matters
			if code := sh.ProcessState.ExitCode(); code != tt.want {
				t.Errorf("holdfast ends with %d, shard 2%s with %d, want %d", tt.holdfast, of, code, tt.want)
			}
			args, err := os.ReadFile(filepath.Join(dir, "args"))
			must.Succeed(t, err)
			c := newExploreCmd()
			must.Succeed(t, c.ParseFlags(strings.Fields(string(args))[1:]))
			if got := c.Flags().Lookup("shard").Value.String(); got != "2"+of {
				t.Errorf("it plays shard %s, want 2%s", got, of)
			}
		}
	}
}

// The image must be built with the Go version of the module, and run as the user of the pods.
func TestTheDockerfileFitsTheProject(t *testing.T) {
	text, err := os.ReadFile(manyMachines + "Dockerfile")
	must.Succeed(t, err)
	mod, err := os.ReadFile("../../go.mod")
	must.Succeed(t, err)
	job, err := os.ReadFile(manyMachines + "job.yaml")
	must.Succeed(t, err)
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(string(mod))[1]
	user := regexp.MustCompile(`runAsUser: (\d+)`).FindStringSubmatch(string(job))[1]
	for _, want := range []string{"FROM golang:" + version + "-", "\nUSER " + user + ":"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q in the Dockerfile", want)
		}
	}
}
