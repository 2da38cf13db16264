package pages

import (
	"cmp"
	"slices"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/internal/search"
	"github.com/holdfast-go/holdfast/internal/story"
	"github.com/holdfast-go/holdfast/reports"
	"github.com/holdfast-go/holdfast/reports/results"
)

// mostDrawn is the number of finds of a page that get a diagram.
const mostDrawn = 40

const (
	openFinds = 6       // later finds fold their diagrams
	mostBytes = 3 << 20 // of all diagrams of a page
	sentences = 14      // of a story
)

// Titles of the diagrams and the texts of a find.
const (
	smallestRun  = "The smallest run that shows it"
	firstRun     = "The first run that showed it"
	scenarioFile = "The scenario, as a file"
	fullStory    = "The full story, with a regression test"
)

// newFind begins to describe a find: the reason is that of its first run.
func newFind(key, title, reason string, s *search.Shrunk) find {
	f := find{Key: key, Title: english.Upper(title), Tone: attention}
	if s != nil {
		reason = cmp.Or(s.Reason, reason)
		f.Sizes = []sizeRow{{"clients", s.Before.Clients, s.Size.Clients}, {"holds", s.Before.Holds, s.Size.Holds},
			{"operations", s.Before.Ops, s.Size.Ops}, {"faults", s.Before.Faults, s.Size.Faults}}
	}
	if reason != "" {
		f.Why = english.Upper(reason) + "."
	}
	return f
}

// fold adds a text that the page folds, unless it is empty.
func (f *find) fold(title, body string) {
	if body != "" {
		f.Texts = append(f.Texts, text{Title: title, Body: body, Folded: true})
	}
}

// draw adds the space-time diagram of a run to a find. The first diagram is open and
// brings the story of its run; later ones are folded. A history without operations
// adds nothing.
func (f *find) draw(title string, h *history.History, run *results.Run) {
	drawing, caption := reports.Draw(h, run)
	if drawing == "" {
		return
	}
	if len(f.Pictures) == 0 {
		f.Story = story.Gist(h, run, sentences)
	}
	f.Pictures = append(f.Pictures, picture{Title: title, Caption: caption, Drawing: drawing, Folded: len(f.Pictures) > 0})
}

// bounded is the page with few open diagrams, and few enough bytes for a browser.
// The caption says where it left a diagram out.
func (p page) bounded() page {
	p.Finds = slices.Clone(p.Finds)
	size := 0
	for i := range p.Finds {
		f := &p.Finds[i]
		f.Pictures = slices.Clone(f.Pictures)
		for k := range f.Pictures {
			pic := &f.Pictures[k]
			pic.Folded = pic.Folded || i >= openFinds
			if size += len(pic.Drawing); size > mostBytes {
				pic.Drawing, pic.Caption = "", "This page has no room for the diagram. The report of the command below has it."
			}
		}
	}
	return p
}
