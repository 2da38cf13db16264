package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/internal/must"
)

// These are mistakes that no schema finds, but that a cluster refuses.
func TestTheJobKeepsTheRulesOfIndexedJobs(t *testing.T) {
	j := read[emittedJob](t, emitted(t, "--lock=reentrant", "--emit=k8s"))
	pod := j.Spec.Template.Spec
	if j.Spec.CompletionMode != "Indexed" || j.Spec.BackoffLimitPerIndex == nil || pod.RestartPolicy != "Never" {
		t.Errorf("FailIndex takes an Indexed job with a limit per index, whose pods are not restarted: %+v", j.Spec)
	}
	for _, r := range j.Spec.PodFailurePolicy.Rules {
		codes := r.OnExitCodes
		if len(codes.Values) == 0 {
			continue
		}
		if codes.ContainerName != pod.Containers[0].Name {
			t.Errorf("a rule for container %s, there is %s", codes.ContainerName, pod.Containers[0].Name)
		}
		if want := []int{exitUsage, exitUnknown, exitDefect}; r.Action != "FailIndex" || !slices.Equal(codes.Values, want) {
			t.Errorf("%s of exit codes %v, want FailIndex of %v: what would end the same once more", r.Action, codes.Values, want)
		}
	}
	var mounts, volumes []string
	for _, m := range pod.Containers[0].VolumeMounts {
		mounts = append(mounts, m.Name)
	}
	for _, v := range pod.Volumes {
		volumes = append(volumes, v.Name)
	}
	if !slices.Equal(mounts, volumes) {
		t.Errorf("mounts %v of volumes %v", mounts, volumes)
	}
	if id := j.APIVersion + " " + j.Kind; id != "batch/v1 Job" {
		t.Errorf("it is a %s, not a Job of batch/v1", id)
	}
	if c := pod.Containers[0].SecurityContext; !pod.SecurityContext.RunAsNonRoot || c.AllowPrivilegeEscalation || !c.ReadOnlyRootFilesystem {
		t.Errorf("a restricted name space refuses the pod: %+v, %+v", pod.SecurityContext, c)
	}
}

// Anybody may start the workflow by hand. It may only read.
func TestTheWorkflowIsStartedByHandAndReads(t *testing.T) {
	w := read[emittedWorkflow](t, emitted(t, "--lock=reentrant", "--emit=github"))
	if w.On != "workflow_dispatch" || w.Permissions.Contents != "read" {
		t.Errorf("it is started by %s and may %s", w.On, w.Permissions.Contents)
	}
	if merge := w.Jobs["merge"]; merge.Needs != "explore" || merge.RunsOn == "" || w.Jobs["explore"].RunsOn == "" {
		t.Errorf("the merge waits for %q on %q, the shards run on %q", merge.Needs, merge.RunsOn, w.Jobs["explore"].RunsOn)
	}
	for name, j := range w.Jobs {
		for _, s := range j.Steps {
			if (s.Uses == "") == (s.Run == "") {
				t.Errorf("a step of %s uses %q and runs %q: GitHub wants one of them", name, s.Uses, s.Run)
			}
		}
	}
}

// This machine may have no docker. The test at least checks the files of the
// image, its Go version, and the user of the job.
func TestTheDockerfileFitsTheProject(t *testing.T) {
	text, err := os.ReadFile("../../internal/search/explore/emit/Dockerfile")
	must.Succeed(t, err)
	mod, err := os.ReadFile("../../go.mod")
	must.Succeed(t, err)
	goVersion := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(string(mod))[1]
	user := read[emittedJob](t, emitted(t, "--lock=reentrant", "--emit=k8s")).Spec.Template.Spec.SecurityContext
	for _, want := range []string{"FROM golang:" + goVersion + "-", fmt.Sprintf("\nUSER %d:%d\n", user.RunAsUser, user.RunAsGroup)} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q in the Dockerfile", want)
		}
	}
	copied := 0
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if len(words) == 0 || words[0] != "COPY" {
			continue
		}
		copied++
		if words[1] == "--from=build" {
			if !strings.Contains(string(text), " -o "+words[2]+" ") {
				t.Errorf("%s is not built", words[2])
			}
			continue
		}
		for _, path := range words[1 : len(words)-1] {
			if _, err := os.Stat(filepath.Join("../..", path)); err != nil {
				t.Error(err)
			}
		}
	}
	if copied < 2 {
		t.Errorf("%d COPY in the Dockerfile, want the sources and what is built", copied)
	}
}

// The manifests of the example pass the same checks as the emitted one.
func TestTheManifestsOfTheExample(t *testing.T) {
	var blocks [][]string
	for _, name := range []string{"claim.yaml", "merge.yaml"} {
		text, err := os.ReadFile("../../examples/many-machines/" + name)
		must.Succeed(t, err)
		blocks = append(blocks, []string{name, string(text)})
	}
	claimed := emitted(t, "--lock=reentrant", "--emit=k8s")
	for _, b := range blocks {
		if !strings.Contains(b[1], "kind: PersistentVolumeClaim\n") {
			if j := read[emittedJob](t, b[1]); j.Kind != "Job" || j.Spec.Template.Spec.RestartPolicy != "Never" {
				t.Errorf("this is no job that runs once:\n%s", b[1])
			}
			continue
		}
		if name := read[claim](t, b[1]).Metadata.Name; !strings.Contains(claimed, "claimName: "+name+"\n") {
			t.Errorf("the claim %s is not that of the emitted job", name)
		}
	}
}
