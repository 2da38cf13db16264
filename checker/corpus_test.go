package checker

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/checker/internal/linear"
)

// caseHeader is the first line of a file of the corpus; testdata/corpus/README.md
// describes it.
type caseHeader struct {
	About   string                   `json:"about"`
	Expect  map[Property]expectation `json:"expect"`
	Vacuous string                   `json:"vacuous"` // a part of the reason
	Invalid *struct {
		Line   int    `json:"line"`
		Reason string `json:"reason"`
	} `json:"invalid"`
}

// expectation is a verdict that is not ok.
type expectation struct {
	Verdict  Outcome `json:"verdict"`
	Class    string  `json:"class"`
	Because  string  `json:"because"` // a part of the reason
	AtMS     float64 `json:"at_ms"`
	Ops      []int64 `json:"ops"`
	Evidence string  `json:"evidence"`
	Inherent string  `json:"inherent"` // a part of the excuse; empty for the lock's own fault
}

// corpusCase is a file of the corpus.
type corpusCase struct {
	name, folder string
	head         caseHeader
	text         []byte           // of the history
	h            *history.History // nil when it cannot be decoded
	err          error            // of decoding
}

func corpus(tb testing.TB) []corpusCase {
	tb.Helper()
	const root = "testdata/corpus"
	var cases []corpusCase
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path == filepath.Join(root, "README.md") {
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(root, path)
		name, isCase := strings.CutSuffix(filepath.ToSlash(name), ".jsonl")
		folder, _, nested := strings.Cut(name, "/")
		first, text, lines := bytes.Cut(raw, []byte("\n"))
		if !isCase || !nested || !lines {
			tb.Fatalf("%s is no file of the corpus", path)
		}
		c := corpusCase{name: name, folder: folder, text: text}
		head := json.NewDecoder(bytes.NewReader(first))
		head.DisallowUnknownFields()
		if err := head.Decode(&c.head); err != nil {
			tb.Fatalf("%s: line 1: %v", path, err)
		}
		c.h, c.err = history.Decode(bytes.NewReader(text))
		cases = append(cases, c)
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
	return cases
}

// Every history of the corpus gets the verdict that its first line argues for.
func TestCorpus(t *testing.T) {
	legal, illegal := map[Property]int{}, map[Property]int{}
	special := map[string]int{}
	for _, c := range corpus(t) {
		t.Run(c.name, func(t *testing.T) {
			if !strings.HasSuffix(c.head.About, ".") {
				t.Error("about is not a sentence")
			}
			switch c.folder {
			case "invalid":
				checkInvalid(t, c)
				special[c.folder]++
				return
			case "vacuous", "undecided":
				special[c.folder]++
			}
			r := checkVerdicts(t, c)
			checkJudges(t, c)
			p := Property(c.folder)
			v, judged := r.Verdicts[p]
			saysLegal := strings.HasPrefix(c.name, c.folder+"/legal-")
			switch {
			case c.folder == "vacuous" && r.Vacuous != "" || c.folder == "undecided" && anyUnknown(r):
			case judged && r.Vacuous == "" && v.Outcome == Violated && !saysLegal:
				illegal[p]++
			case judged && r.Vacuous == "" && v.Outcome == OutcomeOK && saysLegal:
				legal[p]++
			default:
				t.Errorf("wrong folder or name: %s is %q here, vacuous %q", c.folder, v.Outcome, r.Vacuous)
			}
		})
	}
	for _, p := range Properties() {
		if illegal[p.Name] < 3 || legal[p.Name] < 2 {
			t.Errorf("%s: %d illegal and %d legal histories", p.Name, illegal[p.Name], legal[p.Name])
		}
	}
	if special["invalid"] == 0 || special["vacuous"] == 0 || special["undecided"] == 0 {
		t.Errorf("have %v of the others", special)
	}
}

func anyUnknown(r Report) bool {
	for _, v := range r.Verdicts {
		if v.Outcome == Unknown {
			return true
		}
	}
	return false
}

func checkInvalid(t *testing.T, c corpusCase) {
	if c.head.Invalid == nil || len(c.head.Expect) > 0 || c.head.Vacuous != "" {
		t.Fatal("an invalid history has no verdicts")
	}
	err := c.err
	if err == nil {
		_, err = Judge(c.h, Options{})
	}
	var invalid *history.InvalidError
	if !errors.As(err, &invalid) {
		t.Fatalf("got %v, want an InvalidError", err)
	}
	if want := c.head.Invalid; invalid.Line != want.Line || !strings.Contains(invalid.Reason, want.Reason) || want.Reason == "" {
		t.Errorf("got line %d: %s\nwant line %d: %s", invalid.Line, invalid.Reason, want.Line, want.Reason)
	}
}

func checkVerdicts(t *testing.T, c corpusCase) Report {
	if c.head.Invalid != nil {
		t.Fatal("an invalid history does not belong here")
	}
	if c.err != nil {
		t.Fatal(c.err)
	}
	if text := encoded(t, c.h); text != string(c.text) {
		t.Errorf("the history is not written as Encode writes it:\n%s", text)
	}
	if n := len(c.h.Events); n > 60 {
		t.Errorf("%d events are more than one reads", n)
	}
	r, err := Judge(c.h, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if (r.Vacuous != "") != (c.head.Vacuous != "") || !strings.Contains(r.Vacuous, c.head.Vacuous) {
		t.Errorf("vacuous: %q, want %q", r.Vacuous, c.head.Vacuous)
	}
	for _, p := range Properties() {
		want, listed := c.head.Expect[p.Name]
		got, judged := r.Verdicts[p.Name]
		switch {
		case !judged && listed:
			t.Errorf("%s is not claimed, and yet expected to be %s", p.Name, want.Verdict)
			continue
		case !judged:
			continue
		case listed && (want.Verdict != Violated && want.Verdict != Unknown || want.Because == ""):
			t.Errorf("%s: only what is not ok is listed, with its reason", p.Name)
			continue
		case !listed && r.Vacuous != "":
			want = expectation{Verdict: Unknown, Because: r.Vacuous}
		case !listed:
			want = expectation{Verdict: OutcomeOK}
		}
		if want.Verdict != Violated {
			got.Evidence = "" // says nothing when nothing was found
		}
		if got.Outcome != want.Verdict || got.Class != want.Class || !strings.Contains(got.Reason, want.Because) ||
			got.AtMS != want.AtMS || !slices.Equal(got.Ops, want.Ops) || got.Evidence != want.Evidence ||
			(got.Inherent == "") != (want.Inherent == "") || !strings.Contains(got.Inherent, want.Inherent) {
			t.Errorf("%s:\n got %+v\nwant %+v", p.Name, got, want)
		}
	}
	for p := range c.head.Expect {
		if !slices.ContainsFunc(Properties(), func(i PropertyInfo) bool { return i.Name == p }) {
			t.Errorf("%q is no property", p)
		}
	}
	return r
}

// checkJudges has each judge of linearizability decide alone.
func checkJudges(t *testing.T, c corpusCase) {
	tr := linearizableJudge{newTrace(c.h)}
	for _, lock := range tr.locks {
		ops, _ := tr.lockOps(lock)
		pinned := tr.pinToLog(ops)
		for _, o := range [][]linear.Op{ops, pinned} {
			fast, slow := linear.Fast(o, tr.rules(), time.Minute).Outcome, linear.Porcupine(o, tr.rules(), time.Minute)
			search := fast
			if tr.claims.Capacity() == 1 { // the search of one holder
				search = linear.Search(o, tr.rules(), time.Minute).Outcome
			}
			if fast == Unknown || fast != slow || fast != search {
				t.Errorf("lock %s: fast %s, search alone %s, porcupine %s", lock, fast, search, slow)
			}
		}
	}
}

// The folders are those of the properties and three more.
func TestCorpusFolders(t *testing.T) {
	entries, err := os.ReadDir("testdata/corpus")
	if err != nil {
		t.Fatal(err)
	}
	known := []string{"README.md", "invalid", "undecided", "vacuous"}
	for _, p := range Properties() {
		known = append(known, string(p.Name))
	}
	slices.Sort(known)
	var have []string
	for _, e := range entries {
		have = append(have, e.Name())
	}
	if !slices.Equal(known, have) {
		t.Errorf("have %v, want %v", have, known)
	}
}
