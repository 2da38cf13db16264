package reports

import (
	"bufio"
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/reports/results"
)

// JUnit writes results as JUnit XML, with one test suite for each scenario and one test
// case for each run. An unexpected verdict is a failure. A run without a judgement, or
// with an unexpected unknown verdict, is an error. A scenario that does not apply to a
// lock is skipped. Interrupted results have one more suite, with an error.
func JUnit(w io.Writer, res results.Results) error {
	m := newMatrix(Document{Results: res})
	all := junitSuites{Name: "holdfast"}
	for _, s := range m.scenarios {
		suite := junitSuite{Name: english.Name(s)}
		var ms float64
		for _, l := range m.locks {
			c := m.cell(s, l)
			if c == nil {
				continue
			}
			for _, r := range c.runs {
				suite.add(junitRun(r, len(c.runs) > 1))
				ms += r.Stats.WallMS
			}
			if len(c.runs) == 0 && c.skip != nil {
				suite.add(junitCase{Class: english.Name(s), Name: english.Name(l), Time: seconds(0), Skipped: &junitNote{Message: english.Clean(c.skip.Reason)}})
			}
		}
		suite.Time = seconds(ms)
		all.add(suite)
	}
	if words := res.InterruptedWords(); words != "" {
		suite := junitSuite{Name: "holdfast", Time: seconds(0)}
		suite.add(junitCase{Class: "holdfast", Name: "complete", Time: seconds(0), Error: &junitNote{Message: words, Type: "interrupted"}})
		all.add(suite)
	}
	if len(res.Gone) > 0 {
		suite := junitSuite{Name: "accepted", Time: seconds(0)}
		for _, g := range res.Gone {
			suite.add(junitCase{Class: "accepted", Name: english.Clean(g), Time: seconds(0), Failure: &junitNote{
				Message: "this violation is accepted, and no run shows it any more", Type: "gone",
				Text: "Take it off the list of accepted violations.\n",
			}})
		}
		all.add(suite)
	}
	b := bufio.NewWriter(w)
	b.WriteString(xml.Header)
	enc := xml.NewEncoder(b)
	enc.Indent("", "  ")
	if err := enc.Encode(all); err != nil {
		return fmt.Errorf("write junit: %w", err)
	}
	b.WriteString("\n")
	return b.Flush()
}

type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Errors   int          `xml:"errors,attr"`
	Skipped  int          `xml:"skipped,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Time     string      `xml:"time,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class string `xml:"classname,attr"`
	Name  string `xml:"name,attr"`
	Time  string `xml:"time,attr"`
	// Properties and Out describe passing runs too, such as one with an expected
	// violation.
	Properties *junitProperties `xml:"properties,omitempty"`
	Failure    *junitNote       `xml:"failure,omitempty"`
	Error      *junitNote       `xml:"error,omitempty"`
	Skipped    *junitNote       `xml:"skipped,omitempty"`
	Out        *junitText       `xml:"system-out,omitempty"`
}

type junitProperties struct {
	All []junitProperty `xml:"property"`
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type junitText struct {
	Text string `xml:",cdata"`
}

// junitNote is the reason of a test case that did not pass. Its texts have gone through [clean],
// so XML can carry them.
type junitNote struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",cdata"`
}

func (a *junitSuites) add(s junitSuite) {
	a.Tests += s.Tests
	a.Failures += s.Failures
	a.Errors += s.Errors
	a.Skipped += s.Skipped
	a.Suites = append(a.Suites, s)
}

func (s *junitSuite) add(c junitCase) {
	s.Tests++
	switch {
	case c.Failure != nil:
		s.Failures++
	case c.Error != nil:
		s.Errors++
	case c.Skipped != nil:
		s.Skipped++
	}
	s.Cases = append(s.Cases, c)
}

func junitRun(r *results.Run, seeded bool) junitCase {
	c := junitCase{Class: english.Name(r.Scenario), Name: english.Name(r.Column()), Time: seconds(r.Stats.WallMS)}
	if seeded {
		c.Name += " seed " + number(r.Seed)
	}
	c.describe(r)
	if r.Passed() {
		return c
	}
	var text strings.Builder
	note := &junitNote{Type: "unexpected"}
	for _, f := range findingsOf(r) {
		if f.expected {
			continue
		}
		line := fmt.Sprintf("%s %s, expected %s", f.property, f.got, f.want)
		note.Message = cmp.Or(note.Message, line)
		fmt.Fprintln(&text, line)
		if f.reason != "" {
			fmt.Fprintln(&text, "  "+f.reason)
		}
		for _, line := range f.tail {
			fmt.Fprintln(&text, "  | "+line)
		}
		if f.facts != "" {
			fmt.Fprintln(&text, "  "+f.facts)
		}
	}
	fmt.Fprintln(&text, againWords(r)+": "+Replay(r))
	note.Text = text.String()
	switch {
	case r.Failure != "":
		note.Type = "failed"
		note.Message, _ = failureOf(r)
		c.Error = note
	case r.Undecided():
		note.Type = "unknown"
		c.Error = note
	default:
		c.Failure = note
	}
	return c
}

// describe adds the provenance of a run, and every verdict that is not ok, with
// the argument for it.
func (c *junitCase) describe(r *results.Run) {
	c.Properties = &junitProperties{}
	for _, p := range [][2]string{{"world", r.World}, {"seed", number(r.Seed)}, {"history", r.History}, {"history_sha256", r.HistorySHA256}} {
		if p[1] != "" {
			c.Properties.All = append(c.Properties.All, junitProperty{p[0], english.Clean(p[1])})
		}
	}
	var text strings.Builder
	for _, p := range propertiesOf(r) {
		v := r.Verdicts[p]
		if v.Outcome == "ok" || !r.Matches(p) { // the failure states it
			continue
		}
		c.Properties.All = append(c.Properties.All, junitProperty{english.Clean(string(p)), verdictWords(v.Outcome, v.Class)})
		as := "as expected"
		if _, ok := r.Accepted[p]; ok {
			as = "accepted"
		}
		fmt.Fprintf(&text, "%s %s, %s\n", english.Clean(string(p)), verdictWords(v.Outcome, v.Class), as)
		for _, line := range []string{english.Clean(v.Reason), because(r, p)} {
			if line != "" {
				fmt.Fprintln(&text, "  "+line)
			}
		}
	}
	if text.Len() > 0 {
		fmt.Fprintln(&text, againWords(r)+": "+Replay(r))
		c.Out = &junitText{text.String()}
	}
}

func seconds(ms float64) string { return strconv.FormatFloat(ms/1000, 'f', 3, 64) }
