// Package examples_test runs the examples as their READMEs say. The tests of
// examples/own-lock stand in that folder, those of examples/many-machines in
// cmd/holdfast.
package examples_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// bin is the folder of the holdfast command.
var bin string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "holdfast-examples-")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		bin = dir
		if out, err := exec.Command("go", "build", "-o", bin+string(filepath.Separator), "../cmd/holdfast").CombinedOutput(); err != nil {
			panic(string(out))
		}
		return m.Run()
	}())
}

// A reader who plays the example gets the verdicts that it argues for.
func TestTheScenarioPlaysAsItArgues(t *testing.T) {
	c := exec.Command(filepath.Join(bin, "holdfast"), "run", "./long-migration.yaml", "--seeds", "20", "--out", filepath.Join(t.TempDir(), "out"))
	c.Dir = "scenario"
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", c, err, out)
	}
}

// workflow is the part of a GitHub workflow that the test runs.
type workflow struct{ Jobs map[string]steps }

type steps struct {
	Steps []struct {
		Name, Run, Uses string
		Env, With       map[string]string
	}
}

// A reader who copies the workflow gets a summary, and an artifact with the
// report of each test. The steps run here in the folder of the lock.
func TestTheWorkflowKeepsTheReport(t *testing.T) {
	text, err := os.ReadFile("ci/lock.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var w workflow
	if err := yaml.Unmarshal(text, &w); err != nil {
		t.Fatal(err)
	}
	workspace := t.TempDir()
	summary := filepath.Join(t.TempDir(), "summary.md")
	kept := ""
	for _, step := range w.Jobs["test"].Steps {
		switch {
		case strings.HasPrefix(step.Uses, "actions/upload-artifact@"):
			kept = filepath.Join(workspace, step.With["path"])
		case strings.HasPrefix(step.Run, "go install "), step.Run == "":
			continue // TestMain built the command
		case step.Name == "test":
			c := exec.Command("sh", "-ec", step.Run)
			c.Dir, c.Env = "own-lock", os.Environ()
			for key, value := range step.Env {
				c.Env = append(c.Env, key+"="+strings.ReplaceAll(value, "${{ github.workspace }}", workspace))
			}
			if out, err := c.CombinedOutput(); err != nil {
				t.Fatalf("%s: %v\n%s", step.Name, err, out)
			}
		default:
			c := exec.Command("sh", "-ec", step.Run)
			c.Dir = workspace
			c.Env = append(os.Environ(), "PATH="+bin+string(filepath.ListSeparator)+os.Getenv("PATH"), "GITHUB_STEP_SUMMARY="+summary)
			if out, err := c.CombinedOutput(); err != nil {
				t.Fatalf("%s: %v\n%s", step.Name, err, out)
			}
		}
	}
	if page, err := os.ReadFile(summary); err != nil || !strings.Contains(string(page), "lost-release-reply") {
		t.Errorf("the summary of the job has no matrix: %v\n%s", err, page)
	}
	if _, err := os.Stat(filepath.Join(kept, "TestMutex", "report.html")); err != nil {
		t.Errorf("the artifact has no report: %v", err)
	}
}

// A reader who copies the other workflow has a build that passes with the accepted
// violations. It fails on a new one, and fails when an accepted one is gone. The steps of
// the action run as they stand, with what the workflow gives it.
func TestTheWorkflowAcceptsWhatIsListed(t *testing.T) {
	var w workflow
	var action struct{ Runs steps }
	for file, into := range map[string]any{"ci/scenarios.yaml": &w, "../action.yml": &action} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal(text, into); err != nil {
			t.Fatal(err)
		}
	}
	used := w.Jobs["play"].Steps[len(w.Jobs["play"].Steps)-1]
	if !strings.HasPrefix(used.Uses, "holdfast-go/holdfast@") {
		t.Fatalf("the last step uses %s", used.Uses)
	}
	for name, c := range map[string]struct {
		file, old, new string
		passes         bool
		says           string
	}{
		"as it stands": {passes: true, says: "3 runs: 3 as expected"},
		"a regression": {file: "accepted.yaml", old: "property: resource", new: "property: progress", says: "::error title=night-shift%2C set-px-lua::resource violated"},
		"one is gone":  {file: "night-shift.yaml", old: "think: 8s", new: "think: 3s", says: "::error title=accepted violation is gone::exclusion of set-px-lua in night-shift (lease outlived)"},
	} {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS("ci")); err != nil {
			t.Fatal(err)
		}
		if c.file != "" {
			path := filepath.Join(dir, c.file)
			src, err := os.ReadFile(path)
			if err != nil || !strings.Contains(string(src), c.old) {
				t.Fatalf("%s has no %q: %v", c.file, c.old, err)
			}
			if err := os.WriteFile(path, []byte(strings.Replace(string(src), c.old, c.new, 1)), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		for _, s := range action.Runs.Steps {
			if s.Run == "" || strings.HasPrefix(s.Run, "go install ") {
				continue // TestMain built the command
			}
			step := exec.Command("sh", "-ec", s.Run)
			step.Dir = dir
			step.Env = append(os.Environ(), "PATH="+bin+string(filepath.ListSeparator)+os.Getenv("PATH"), "GITHUB_ACTIONS=true", "GITHUB_STEP_SUMMARY="+filepath.Join(dir, "summary.md"))
			for key, value := range s.Env {
				for input, given := range used.With {
					value = strings.ReplaceAll(value, "${{ inputs."+input+" }}", given)
				}
				step.Env = append(step.Env, key+"="+value)
			}
			out, err := step.CombinedOutput()
			if s.Name == "play" && ((err == nil) != c.passes || !strings.Contains(string(out), c.says)) {
				t.Errorf("%s: %v, passes %v, want %q in\n%s", name, err, c.passes, c.says, out)
			}
		}
		for _, file := range []string{"holdfast.xml", "holdfast-run/report.html", "summary.md"} {
			if _, err := os.Stat(filepath.Join(dir, file)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		found, err := os.ReadFile(filepath.Join(dir, "holdfast.sarif"))
		if err != nil || strings.Contains(string(found), `"holdfast/v1": "resource_`) != (name == "a regression") {
			t.Errorf("%s: %v, findings %s", name, err, found)
		}
	}
}
