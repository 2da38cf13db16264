package main

import (
	"os"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/scenarios"
)

// The published record has every mutant, caught: who adds one makes the
// record again.
func TestTheTrackRecordIsWhole(t *testing.T) {
	page, err := os.ReadFile("../../docs/gallery.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range scenarios.Mutants() {
		_, row, ok := strings.Cut(string(page), "\n| "+m.Name+" | "+m.Of+" | ")
		row, _, _ = strings.Cut(row, "\n")
		if !ok || strings.Contains(row, "| "+survived+" |") {
			t.Errorf("docs/gallery.md does not show %s as caught; make track-record writes it again", m.Name)
		}
	}
}
