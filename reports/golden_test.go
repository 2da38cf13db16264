package reports

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/internal/story"
	"github.com/holdfast-go/holdfast/reports/results"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares got with testdata/name.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		must.Succeed(t, os.WriteFile(path, got, 0o644))
		return
	}
	want, err := os.ReadFile(path)
	must.Succeed(t, err)
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", path, diff)
	}
}

// seeded is the sample with several seeds of one cell. One of them has no
// judgement.
func seeded() Document {
	d := sample()
	_, late := pauseStory()
	for seed := uint64(2); seed <= 4; seed++ {
		r := late
		r.Seed = seed
		if seed == 3 {
			r.Failure, r.Verdicts, r.AsExpected = "the lock panicked:\n\tindex out of range", nil, false
		}
		d.Results.Runs = append(d.Results.Runs, r)
	}
	return d
}

func TestText(t *testing.T) {
	_, bad := failoverStory()
	one := func(d Document, r results.Run) Document {
		d.Results.Runs, d.Results.Skipped = []results.Run{r}, nil
		return d
	}
	wide := Document{}
	for i := range 40 {
		_, r := contentionStory(fmt.Sprintf("a-lock-with-a-long-name-%d", i), 1, 1, 1)
		wide.Results.Runs = append(wide.Results.Runs, r)
	}
	for file, d := range map[string]Document{
		"matrix.txt":      sample(),
		"seeds.txt":       seeded(),
		"one.txt":         one(sample(), bad),
		"lettered.txt":    wide,
		"empty.txt":       {},
		"catalogue.txt":   catalogue(),
		"interrupted.txt": {Results: results.Results{Interrupted: true, Pending: make([]string, 60)}},
	} {
		var b bytes.Buffer
		must.Succeed(t, d.Text(&b))
		golden(t, file, b.Bytes())
	}
}

func TestMarkdown(t *testing.T) {
	for file, d := range map[string]Document{"matrix.md": seeded(), "empty.md": {}} {
		var b bytes.Buffer
		must.Succeed(t, d.Markdown(&b))
		golden(t, file, b.Bytes())
	}
}

func TestJUnit(t *testing.T) {
	for file, d := range map[string]Document{"junit.xml": seeded(), "empty.xml": {}} {
		var b bytes.Buffer
		must.Succeed(t, JUnit(&b, d.Results))
		golden(t, file, b.Bytes())
	}
}

// TestStoryAndTimeline compares the stories and diagrams of three small runs with
// golden files.
func TestStoryAndTimeline(t *testing.T) {
	for file, record := range map[string]func() (*history.History, results.Run){
		"failover": failoverStory,
		"pause":    pauseStory,
		"contention": func() (*history.History, results.Run) {
			return contentionStory("reentrant", 3, 8, 1)
		},
	} {
		h, r := record()
		f := story.NewFacts(h)
		svg, caption := drawTimeline(f, &r, &timeAxis{})
		var b bytes.Buffer
		v := runView{Timeline: svg, Caption: caption, Story: storyView(story.Tell(f, &r))}
		for _, part := range []string{"timeline", "story"} {
			must.Succeed(t, pages.ExecuteTemplate(&b, part, v))
			b.WriteByte('\n')
		}
		golden(t, file+".html", b.Bytes())
	}
}
