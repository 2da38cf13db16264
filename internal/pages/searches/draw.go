package searches

import (
	"slices"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/reports"
	"github.com/holdfast-go/holdfast/reports/results"
)

// MostDrawn is the number of finds of a page that get a diagram.
const MostDrawn = 40

const (
	openFinds = 6       // later finds fold their diagrams
	mostBytes = 3 << 20 // of all diagrams of a page
	sentences = 14      // of a story
)

// Draw adds the space-time diagram of a run to a find. The first diagram is open and
// brings the story of its run; later ones are folded. A history without operations
// adds nothing.
func (f *Find) Draw(title string, h *history.History, run *results.Run) {
	drawing, caption := reports.Draw(h, run)
	if drawing == "" {
		return
	}
	if len(f.Pictures) == 0 {
		f.Story = reports.Gist(h, run, sentences)
	}
	f.Pictures = append(f.Pictures, Picture{Title: title, Caption: caption, Drawing: drawing, Folded: len(f.Pictures) > 0})
}

// bounded is the page with few open diagrams, and few enough bytes for a browser.
// The caption says where it left a diagram out.
func (p Page) bounded() Page {
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
