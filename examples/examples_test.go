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
type workflow struct {
	Jobs map[string]struct {
		Steps []struct {
			Name, Run, Uses string
			Env, With       map[string]string
		}
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
