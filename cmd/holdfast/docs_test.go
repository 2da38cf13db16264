package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/selftest"
	"github.com/holdfast-go/holdfast/subject"
	"github.com/holdfast-go/holdfast/sweep"
)

// The published record has every mutant, killed: who adds one makes the
// record again.
func TestTheTrackRecordIsWhole(t *testing.T) {
	page, err := os.ReadFile("../../docs/gallery.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range subject.Mutants() {
		_, row, ok := strings.Cut(string(page), "\n| "+m.Name+" | "+m.Of+" | ")
		row, _, _ = strings.Cut(row, "\n")
		if !ok || strings.Contains(row, "| "+selftest.Survived+" |") {
			t.Errorf("docs/gallery.md does not show %s as killed; make track-record writes it again", m.Name)
		}
	}
}

// README shows the matrix as the command prints it, and counts what it shows.
// Who adds a scenario or a lock copies the output there.
func TestTheReadmeShowsTheMatrix(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	h := command(t, "run", "--out", "run")
	if code := h.code(t); code != exitOK {
		t.Fatalf("exit %d\n%s%s", code, &h.stdout, &h.stderr)
	}
	_, shown, _ := strings.Cut(string(page), "    $ go run ./cmd/holdfast run\n")
	shown, _, _ = strings.Cut(shown, "    report: ")
	printed := regexp.MustCompile(`(?m)^.`).ReplaceAllString(h.stdout.String(), "    $0")
	if diff := cmp.Diff(shown, printed); diff != "" {
		t.Errorf("README.md shows (-) something else than holdfast run prints (+):\n%s", diff)
	}
	count := fmt.Sprintf(" %d scenarios were played against %d locks ", len(scenarios.Names()), len(subject.Locks()))
	if !strings.Contains(string(page), count) {
		t.Errorf("README.md does not say %q", count)
	}
}

// The guide to sweeps names every parameter, and every scenario made for them
// can be read and has its picture.
func TestTheGuideToSweepsIsWhole(t *testing.T) {
	page, err := os.ReadFile("../../docs/sweep.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range sweep.Params() {
		if !strings.Contains(string(page), "\n| `"+p.Name+"` | ") {
			t.Errorf("docs/sweep.md does not say what %s sets", p.Name)
		}
	}
	for _, name := range sweep.Names() {
		if !strings.Contains(string(page), "    holdfast sweep "+name+" ") {
			t.Errorf("docs/sweep.md has no sweep of %s; make sweeps writes it again", name)
		}
	}
	for _, m := range regexp.MustCompile(`\]\((sweep-[a-z-]+\.svg)\)`).FindAllStringSubmatch(string(page), -1) {
		if _, err := os.Stat("../../docs/" + m[1]); err != nil {
			t.Error(err)
		}
	}
}
