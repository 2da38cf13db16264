package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-go/holdfast/explore"
	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/subject/gallery"
)

// searchRecord is what the searches have shown, and the JSON that is printed of
// it.
type searchRecord struct {
	Schema  string         `json:"schema"`
	Version string         `json:"version"`
	Command string         `json:"command"`
	Mutants []searchRow    `json:"mutants"`
	Summary searchedCounts `json:"summary"`
	Defects []string       `json:"defects,omitempty"`
	// NoVerdict are the runs that never ended or took their process down.
	NoVerdict []string `json:"no_verdict,omitempty"`
	WallMS    float64  `json:"wall_ms"` // of everything, on all cores
}

// searchedCounts sums up.
type searchedCounts struct {
	Mutants  int `json:"mutants"`
	Found    int `json:"found"`     // in some trial
	NotFound int `json:"not_found"` // in any
	Runs     int `json:"runs"`      // of all trials
	Median   int `json:"median"`    // of the medians; 0 when most mutants have none
	Highest  int `json:"highest"`   // of the medians
}

// searchRow is what is known of one mutant.
type searchRow struct {
	Name    string `json:"name"`
	Of      string `json:"of"`
	Class   int    `json:"class"`
	Mistake string `json:"mistake"`
	Status  string `json:"status"` // "found", "not found" or "unfinished"
	Found   int    `json:"found"`  // in so many trials
	// Runs is the median of the trials until the first find; 0 when most had
	// none.
	Runs   int            `json:"median_runs"`
	Causes []causeRow     `json:"causes"` // those seen most often first
	Trials []*searchTrial `json:"trials"`
}

// causeRow is a cause that no simpler one of the mutant explains.
type causeRow struct {
	explore.Cause
	Trials int `json:"trials"`
}

const (
	found    = "found"
	notFound = "not found"
)

// searchGallery is holdfast gallery --explore.
func searchGallery(c *cobra.Command, args []string, mutants []gallery.Mutant, f galleryFlags) error {
	searches := planSearches(mutants, f)
	began := time.Now()
	if err := playSearches(c.Context(), searches, f, c.ErrOrStderr()); err != nil {
		return defect(err)
	}
	r := newSearchRecord(searches, galleryCommand(args, f))
	r.WallMS = float64(time.Since(began).Milliseconds())
	if err := printTable(c.OutOrStdout(), f.format, r); err != nil {
		return defect(fmt.Errorf("print result: %w", err))
	}
	return concludeSearch(c, r)
}

func newSearchRecord(searches []*search, command string) *searchRecord {
	r := &searchRecord{Schema: "holdfast-gallery-explore/1", Version: version, Command: command, Mutants: []searchRow{}}
	var medians []int
	for _, s := range searches {
		m := s.row()
		r.Mutants = append(r.Mutants, m)
		r.Summary.Mutants++
		switch m.Status {
		case found:
			r.Summary.Found++
		case notFound:
			r.Summary.NotFound++
		}
		if m.Runs > 0 {
			medians = append(medians, m.Runs)
		}
		for _, t := range s.trials {
			r.Summary.Runs += t.Runs
		}
		r.Defects = append(r.Defects, s.defects...)
		r.NoVerdict = append(r.NoVerdict, s.noVerdict...)
	}
	slices.Sort(medians)
	if at := (len(searches) - 1) / 2; at < len(medians) {
		r.Summary.Median = medians[at]
	}
	if n := len(medians); n > 0 {
		r.Summary.Highest = medians[n-1]
	}
	return r
}

func (s *search) row() searchRow {
	m := searchRow{Name: s.mutant.Name, Of: s.mutant.Of, Class: s.mutant.Class, Mistake: s.mutant.Mistake, Status: notFound, Causes: []causeRow{}, Trials: s.trials}
	var runs []int
	var causes []explore.Found
	over := true
	for _, t := range s.trials {
		over = over && t.done()
		if t.Found {
			m.Found++
			runs = append(runs, t.Runs)
			causes = append(causes, explore.Found{Key: t.Cause.Key(), Cause: *t.Cause, Count: 1, FirstSeed: t.Seed})
		}
	}
	switch {
	case m.Found > 0:
		m.Status = found
	case !over:
		m.Status = unfinished
	}
	slices.Sort(runs) // the trials without a find are longer than all of these
	if at := (len(s.trials) - 1) / 2; over && at < len(runs) {
		m.Runs = runs[at]
	}
	for _, c := range explore.Distinct(folded(causes)) {
		m.Causes = append(m.Causes, causeRow{c.Cause, c.Count})
	}
	return m
}

// folded joins equal causes, and says which explains which.
func folded(causes []explore.Found) []explore.Found {
	var some []explore.Found
	for _, c := range causes {
		if i := slices.IndexFunc(some, func(o explore.Found) bool { return o.Key == c.Key }); i >= 0 {
			some[i].Count++
			some[i].FirstSeed = min(some[i].FirstSeed, c.FirstSeed)
			continue
		}
		some = append(some, c)
	}
	explore.Subsume(some)
	return some
}

// text implements [table].
func (r *searchRecord) text(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "mutant\tof\ttrials\truns\tfound by")
	for _, m := range r.Mutants {
		fmt.Fprintf(tw, "%s\t%s\t%s\n", m.Name, m.Of, strings.Join(m.cells(), "\t"))
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%s\n", r.sentence())
	return err
}

// markdown implements [table].
func (r *searchRecord) markdown(w io.Writer) error {
	fmt.Fprintf(w, "    %s\n\n", r.Command)
	fmt.Fprintln(w, "| mutant | of | trials | runs | found by |")
	fmt.Fprintln(w, "|---|---|---:|---:|---|")
	for _, m := range r.Mutants {
		fmt.Fprintf(w, "| %s | %s | %s |\n", m.Name, m.Of, strings.Join(m.cells(), " | "))
	}
	_, err := fmt.Fprintf(w, "\n%s\n", r.sentence())
	return err
}

// cells are the trials that had a find, the median, and what was found.
func (m searchRow) cells() []string {
	if m.Found == 0 {
		return []string{fmt.Sprintf("0 of %d", len(m.Trials)), "", m.Status}
	}
	by := m.Causes[0].String()
	if n := len(m.Causes) - 1; n > 0 {
		by += fmt.Sprintf("; %s", english.Count(n, "other"))
	}
	runs := "more"
	if m.Runs > 0 {
		runs = fmt.Sprint(m.Runs)
	}
	return []string{fmt.Sprintf("%d of %d", m.Found, len(m.Trials)), runs, by}
}

func (r *searchRecord) sentence() string {
	s := r.Summary
	text := fmt.Sprintf("%d of %d found", s.Found, s.Mutants)
	if s.Median > 0 {
		text += fmt.Sprintf("; the median mutant after %s, the hardest after %d", english.Count(s.Median, "run"), s.Highest)
	}
	return text + fmt.Sprintf(". %s in %s.", english.Count(s.Runs, "run"), spanMS(r.WallMS))
}

// concludeSearch says on stderr what was not found, and how the command ends.
func concludeSearch(c *cobra.Command, r *searchRecord) error {
	printSome(c.ErrOrStderr(), "no verdict", r.NoVerdict, 5)
	switch {
	case len(r.Defects) > 0:
		return ownDefects(c.ErrOrStderr(), r.Defects)
	case c.Context().Err() != nil:
		return &exitError{code: exitInterrupted, msg: fmt.Sprintf("interrupted with %s of %d found", english.Count(r.Summary.Found, "mutant"), r.Summary.Mutants)}
	case r.Summary.NotFound == 0:
		return nil
	}
	var names, hints []string
	for _, m := range r.Mutants {
		if m.Status == notFound {
			names = append(names, m.Name)
			hints = append(hints, fmt.Sprintf("no drawn scenario shows what is wrong with %s: %s", m.Name, m.Mistake))
		}
	}
	hints = append(hints, "a mutant that is not found is a hole in what is drawn; more --runs may show a rare one")
	return &exitError{code: exitUnexpected, msg: fmt.Sprintf("%s not found: %s", english.Count(len(names), "mutant"), strings.Join(names, ", ")), hints: hints}
}
