package pages

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/internal/gallery"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

var errUnknown = errors.New("nothing has this name")

// kindOfNames is a kind of names, with the rows of their list below a head.
type kindOfNames struct {
	name string
	head []string
	rows func() [][]string
}

var kinds = []kindOfNames{
	rowsOf("scenarios", nil, scenarios.Catalogue, func(s *scenarios.Scenario) []string { return []string{s.Name, s.Title} }),
	rowsOf("locks", nil, locks.Names, func(name string) []string { return []string{name, locks.MustFind(name).Summary()} }),
	rowsOf("mutants", []string{"mutant", "of", "class", "mistake", "shipped by"}, locks.Mutants, func(m gallery.Mutant) []string {
		return []string{m.Name, m.Of, fmt.Sprint(m.Class), m.Mistake, m.Shipped}
	}),
	rowsOf("faults", nil, faults.Vocabulary, func(k faults.Kind) []string { return []string{k.Name, k.Targets(), k.Summary} }),
	rowsOf("properties", nil, checker.Properties, func(p checker.PropertyInfo) []string { return []string{string(p.Name), p.Promise} }),
	rowsOf("claims", nil, history.Claims{}.Names, func(name string) []string { return []string{name, history.Claims{}.Describe(name)} }),
}

// rowsOf is a kind whose rows begin with a name.
func rowsOf[T any](name string, head []string, all func() []T, row func(T) []string) kindOfNames {
	return kindOfNames{name, head, func() (rows [][]string) {
		for _, x := range all() {
			rows = append(rows, row(x))
		}
		return rows
	}}
}

// Kinds are the kinds of names that [List] lists.
func Kinds() []string {
	return english.Words(kinds, func(k kindOfNames) string { return k.name })
}

// List writes all names of a kind, one in a line.
func List(w io.Writer, kind string) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, k := range kinds {
		if k.name != kind {
			continue
		}
		for _, row := range append([][]string{k.head}, k.rows()...) {
			if row != nil {
				fmt.Fprintln(tw, strings.Join(row, "\t"))
			}
		}
	}
	return tw.Flush()
}

// Names are all words that [Explain] explains.
func Names() (all []string) {
	for _, k := range kinds {
		all = append(all, english.Words(k.rows(), func(row []string) string { return row[0] })...)
	}
	return all
}

// Explain explains a word, or fails with [errUnknown]. It explains each meaning of a
// word that has several.
func Explain(w io.Writer, word string) error {
	p := &sheet{printer: printer{w: w}}
	for _, k := range []func(*sheet, string){lock, mutant, scenario, fault, property, claim} {
		k(p, word)
	}
	if p.parts == 0 {
		return fmt.Errorf("%w: %q", errUnknown, word)
	}
	return p.err
}

type sheet struct {
	printer
	parts int
}

// begin writes the first line of a part.
func (p *sheet) begin(name, what string) {
	if p.parts++; p.parts > 1 {
		p.print("\n")
	}
	p.print("%s: %s\n\n", name, what)
}

// line writes a heading with its text, in lines of at most 80 characters.
func (p *sheet) line(heading, text string) {
	if text == "" {
		return
	}
	const indent = 14
	head, at := fmt.Sprintf("  %-*s", indent-2, heading), indent
	p.print("%s", head)
	for i, word := range strings.Fields(text) {
		switch {
		case i > 0 && at+1+len(word) > 80:
			p.print("\n%*s", indent, "")
			at = indent
		case i > 0:
			p.print(" ")
			at++
		}
		p.print("%s", word)
		at += len(word)
	}
	p.print("\n")
}

// end writes the last lines of a part: where to read on, and a command of holdfast.
func (p *sheet) end(source, page, command string) {
	p.line("source", source)
	p.line("page", page)
	p.line("try", "holdfast "+command)
}

func few(all []string) string {
	const most = 8
	if len(all) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(all[:most], ", "), len(all)-most)
	}
	return english.And(all)
}

// scenariosThat names the scenarios of the catalogue of which something is true.
func scenariosThat(is func(*scenarios.Scenario) bool) []string {
	some := slices.DeleteFunc(scenarios.Catalogue(), func(s *scenarios.Scenario) bool { return !is(s) })
	return english.Words(some, func(s *scenarios.Scenario) string { return s.Name })
}

func lock(p *sheet, word string) {
	if !slices.Contains(locks.Names(), word) {
		return
	}
	l := locks.MustFind(word)
	p.begin(word, "a built-in lock")
	p.line("is", l.Summary())
	p.line("promises", english.And(append([]string{"exclusion"}, slices.DeleteFunc(history.Claims{}.Names(), func(name string) bool { return !l.Claims.Has(name) })...)))
	var breaks []string
	n := 0
	for _, s := range scenarios.Catalogue() {
		if ok, _ := s.Applies(l); ok {
			n++
			if what := violated(s.Expected(l)); what != "" {
				breaks = append(breaks, s.Name)
			}
		}
	}
	p.line("breaks", fmt.Sprintf("in %d of the %s that apply to it", len(breaks), english.Count(n, "scenario")))
	p.line("", few(breaks))
	source := "lock, scenarios/locks/builtin.go"
	if strings.HasPrefix(word, "set") {
		source = "internal/textbook, scenarios/locks/builtin.go"
	}
	p.end(source, "docs/matrix.md, docs/bench-locks.md", "run --lock "+word)
}

func claim(p *sheet, word string) {
	if !slices.Contains(history.Claims{}.Names(), word) {
		return
	}
	p.begin(word, "a claim of a lock")
	p.line("says", history.Claims{}.Describe(word))
	p.line("made by", few(slices.DeleteFunc(locks.Names(), func(name string) bool { return !locks.MustFind(name).Claims.Has(word) })))
	p.line("needed by", few(scenariosThat(func(s *scenarios.Scenario) bool { return slices.Contains(s.Needs, word) })))
	p.end("checker/history/claims.go", "docs/test-your-own-lock.md, docs/adapter-protocol.md", "list claims")
}

// violated states the expected violations, in the order of the properties.
func violated(expected map[checker.Property]scenarios.Expectation) string {
	var all []string
	for _, p := range checker.Properties() {
		if expected[p.Name].Outcome == checker.Violated {
			all = append(all, string(p.Name))
		}
	}
	return english.And(all)
}

func mutant(p *sheet, word string) {
	for _, m := range locks.Mutants() {
		if m.Name != word {
			continue
		}
		p.begin(word, "wrong on purpose")
		p.line("made from", m.Of)
		p.line("mistake", m.Mistake)
		p.line("shipped by", m.Shipped)
		p.end("internal/gallery", "docs/gallery.md", "selftest gallery "+word)
	}
}

func scenario(p *sheet, word string) {
	s, err := scenarios.Find(word)
	if err != nil {
		return
	}
	p.begin(word, "a scenario of the catalogue")
	p.line("is", s.Title)
	p.line("story", s.Story)
	heading := "faults"
	for _, f := range s.Faults {
		p.line(heading, fmt.Sprintf("%s of %s, %s", f.Fault, strings.Join(f.Target, ", "), f.When()))
		heading = ""
	}
	breaks := map[string][]string{}
	var whats, holds []string
	for _, name := range locks.Names() {
		l := locks.MustFind(name)
		if ok, _ := s.Applies(l); !ok {
			continue
		}
		what := violated(s.Expected(l))
		if what == "" {
			holds = append(holds, name)
			continue
		}
		if breaks[what] == nil {
			whats = append(whats, what)
		}
		breaks[what] = append(breaks[what], name)
	}
	for _, what := range whats {
		p.line("violates", fmt.Sprintf("%s: %s", what, english.And(breaks[what])))
	}
	p.line("keeps all", english.And(holds))
	p.end(fmt.Sprintf("scenarios/catalogue/%s.yaml; holdfast show %s", word, word), "docs/matrix.md, docs/expectations.md", "run "+word)
}

func fault(p *sheet, word string) {
	k, ok := faults.Lookup(word)
	if !ok {
		return
	}
	p.begin(word, "a fault")
	p.line("is", k.Summary)
	p.line("strikes", "a "+k.Target)
	var params []string
	if k.Lasts {
		params = append(params, "for")
	}
	for _, one := range k.Params {
		name := one.Name
		if len(one.Words) > 0 {
			name += " (" + strings.Join(one.Words, " or ") + ")"
		}
		params = append(params, name)
	}
	p.line("parameters", strings.Join(params, ", "))
	p.line("comes in", few(scenariosThat(func(s *scenarios.Scenario) bool {
		return slices.ContainsFunc(s.Faults, func(f faults.Spec) bool { return f.Fault == word })
	})))
	p.end("faults", "docs/faults.md", "explore --lock reentrant --faults "+word)
}

func property(p *sheet, word string) {
	i := slices.IndexFunc(checker.Properties(), func(i checker.PropertyInfo) bool { return string(i.Name) == word })
	if i < 0 {
		return
	}
	p.begin(word, "a property that every history is judged by")
	p.line("promise", checker.Properties()[i].Promise)
	p.line("violated in", few(scenariosThat(func(s *scenarios.Scenario) bool {
		return slices.ContainsFunc(locks.Names(), func(name string) bool {
			l := locks.MustFind(name)
			ok, _ := s.Applies(l)
			return ok && s.Expected(l)[checker.Property(word)].Outcome == checker.Violated
		})
	})))
	p.end("checker/property_"+word+".go", "docs/history.md, docs/judges.md", "shrink RUNDIR --property "+word)
}
