package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

var update = flag.Bool("update", false, "write the examples and the matrix anew")

// emitted is the output of "holdfast explore".
func emitted(t fataler, args ...string) string {
	var out, errs strings.Builder
	if code := run(context.Background(), append([]string{"explore"}, args...), strings.NewReader(""), &out, &errs); code != exitOK || errs.Len() > 0 {
		t.Fatalf("holdfast explore %s: exit code %d: %s", strings.Join(args, " "), code, &errs)
	}
	return out.String()
}

type fataler interface{ Fatalf(string, ...any) }

// read reads a YAML document into a value. It treats a field that the value lacks
// as misspelled, because a cluster would refuse it.
func read[T any](t fataler, text string) T {
	v, err := parse[T](text)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return v
}

func parse[T any](text string) (v T, err error) {
	doc, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		return v, fmt.Errorf("not YAML: %w", err)
	}
	d := json.NewDecoder(bytes.NewReader(doc)) // it ignores the case of letters
	d.DisallowUnknownFields()
	return v, d.Decode(&v)
}

// step is the script of a step of a workflow.
func (w emittedWorkflow) step(t fataler, job, name string) string {
	for _, s := range w.Jobs[job].Steps {
		if s.Name == name {
			return s.Run
		}
	}
	t.Fatalf("the job %s has no step %s", job, name)
	return ""
}

// For every exploration, Kubernetes and GitHub can read the output. It has the
// requested number of shards, and they explore what the flags say.
func TestWhatIsEmittedIsReadAsItWasMeant(t *testing.T) {
	names := locks.Locks()
	for _, m := range locks.Mutants() {
		names = append(names, m.Name)
	}
	rapid.Check(t, func(t *rapid.T) {
		shards := rapid.IntRange(1, 256).Draw(t, "shards")
		args := append(drawExploration(t, names), fmt.Sprintf("--shards=%d", shards))
		var script string
		if rapid.Bool().Draw(t, "on Kubernetes") {
			text := emitted(t, append(args, "--emit=k8s")...)
			j := read[emittedJob](t, text)
			if j.Spec.Completions != shards || j.Spec.Parallelism != shards {
				t.Fatalf("%d completions, %d in parallel, want %d", j.Spec.Completions, j.Spec.Parallelism, shards)
			}
			// Kubernetes builds a host name from the name and the index.
			if host := fmt.Sprintf("%s-%d", j.Metadata.Name, suite.MaxShards-1); len(host) > 63 || !dnsLabel.MatchString(host) {
				t.Fatalf("%s is no host name", host)
			}
			script = j.Spec.Template.Spec.Containers[0].Command[2]
		} else {
			text := emitted(t, append(args, "--emit=github")...)
			w := read[emittedWorkflow](t, text)
			if got := w.Jobs["explore"].Strategy.Matrix.Shard; len(got) != shards || got[0] != 1 || got[shards-1] != shards {
				t.Fatalf("shards %v, want 1 to %d", got, shards)
			}
			script = w.step(t, "explore", "explore")
		}
		if !strings.Contains(script, fmt.Sprintf("/%d", shards)) {
			t.Fatalf("no shard of %d in\n%s", shards, script)
		}
		if diff := cmp.Diff(explorationOf(t, args), explorationOf(t, shardCommand(t, script))); diff != "" {
			t.Fatalf("the shards explore something else (-asked +written):\n%s", diff)
		}
	})
}

var dnsLabel = regexp.MustCompile(`^[a-z]([-a-z0-9]*[a-z0-9])?$`)

// drawExploration draws flags of an exploration.
func drawExploration(t *rapid.T, names []string) []string {
	args := []string{"--lock=" + rapid.SampledFrom(names).Draw(t, "lock")}
	add := func(name string, flag func() string) {
		if rapid.Bool().Draw(t, "with "+name) {
			args = append(args, "--"+name+"="+flag())
		}
	}
	add("seed", func() string { return fmt.Sprint(rapid.Uint64Max(math.MaxUint64-1_000_000_000).Draw(t, "seed")) })
	add("runs", func() string { return fmt.Sprint(rapid.IntRange(256, 1_000_000_000).Draw(t, "runs")) })
	add("time", func() string { return fmt.Sprintf("%dms", rapid.IntRange(1, 1<<40).Draw(t, "time")) })
	add("all", func() string { return "true" })
	add("survivable", func() string { return "true" })
	add("shrink", func() string { return "false" })
	// Crashes always remain, because no fault at all leaves nothing to draw.
	some := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"pause", "partition", "drop-message", "delay", "cancel"}), 1, 2, rapid.ID)
	add("faults", func() string { return "crash," + strings.Join(some.Draw(t, "faults"), ",") })
	add("without", func() string { return strings.Join(some.Draw(t, "without"), ",") })
	add("workers", func() string { return fmt.Sprint(rapid.IntRange(1, 64).Draw(t, "workers")) })
	add("stall", func() string { return fmt.Sprintf("%ds", rapid.IntRange(1, 600).Draw(t, "stall")) })
	return args
}

// shardCommand returns the arguments of holdfast explore in a script.
func shardCommand(t fataler, script string) []string {
	_, line, ok := strings.Cut(script, "holdfast explore ")
	line, _, shard := strings.Cut(line, " --shard ")
	if !ok || !shard {
		t.Fatalf("no holdfast explore with a --shard in\n%s", script)
	}
	return strings.Fields(line)
}

// explorationOf returns the value of every exploration flag, as holdfast explore
// parses the arguments.
func explorationOf(t fataler, args []string) map[string]string {
	c := newExploreCmd()
	if err := c.ParseFlags(args); err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	values := map[string]string{}
	for _, name := range []string{"lock", "seed", "runs", "time", "all", "faults", "without", "survivable", "shrink", "stall"} {
		values[name] = c.Flags().Lookup(name).Value.String()
	}
	if !c.Flags().Changed("runs") && !c.Flags().Changed("time") {
		values["time"] = "1m0s" // the default is written out
	}
	return values
}

// A misspelled field must not pass as an omitted one.
func TestReadingRefusesMistakes(t *testing.T) {
	for _, tt := range []struct{ engine, old, new string }{
		{"k8s", "completionMode:", "completionsMode:"},
		{"k8s", "completions: 8", "completions: many"},
		{"k8s", "values: [2, 3, 4]", "values: 2"},
		{"k8s", "claimName:", "claim:"},
		{"github", "fail-fast:", "failfast:"},
		{"github", "uses: actions/checkout@v6", "use: actions/checkout@v6"},
	} {
		t.Run(tt.new, func(t *testing.T) {
			text := emitted(t, "--lock=reentrant", "--emit="+tt.engine)
			if !strings.Contains(text, tt.old) {
				t.Fatalf("no %q to spoil", tt.old)
			}
			text = strings.Replace(text, tt.old, tt.new, 1)
			_, err := parse[emittedWorkflow](text)
			if tt.engine == "k8s" {
				_, err = parse[emittedJob](text)
			}
			if err == nil {
				t.Error("it is read all the same")
			}
		})
	}
}

// The examples are the output of the command, and name its flags.
func TestTheExamplesAreWhatIsEmitted(t *testing.T) {
	for file, args := range map[string][]string{
		"job.yaml":      {"--lock=reentrant", "--survivable", "--runs=1000000", "--emit=k8s", "--shards=50", "--image=registry.example.com/holdfast:0.1.0"},
		"workflow.yaml": {"--lock=reentrant", "--survivable", "--runs=1000000", "--emit=github", "--shards=16"},
	} {
		path := filepath.Join("../../examples/many-machines", file)
		text := emitted(t, args...)
		if *update {
			must.Succeed(t, os.WriteFile(path, []byte(text), 0o644))
		}
		want, err := os.ReadFile(path)
		must.Succeed(t, err)
		if diff := cmp.Diff(string(want), text); diff != "" {
			t.Errorf("%s is not what is emitted; -update writes it anew (-example +emitted):\n%s", path, diff)
		}
	}
}
