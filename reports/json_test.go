package reports

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/reports/results"
)

func validate(t *testing.T, doc []byte) error {
	t.Helper()
	schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(results.JSONSchema()))
	must.Succeed(t, err)
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	must.Succeed(t, c.AddResource("schema.json", schema))
	s, err := c.Compile("schema.json")
	must.Succeed(t, err)
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(doc))
	must.Succeed(t, err)
	return s.Validate(v)
}

func TestJSONRoundTrip(t *testing.T) {
	huge := sample()
	huge.Results.Runs[0].Seed = math.MaxUint64
	huge.Results.Runs[0].Scenario = "<script>\u2028\"\\"
	for name, d := range map[string]Document{
		"sample": sample(), "seeds": seeded(), "empty": {}, "catalogue": catalogue(), "extremes": huge,
	} {
		var a, b bytes.Buffer
		must.Succeed(t, results.JSON(&a, d.Results))
		must.Succeed(t, results.JSON(&b, d.Results))
		if !bytes.Equal(a.Bytes(), b.Bytes()) {
			t.Errorf("%s: written twice, the document differs", name)
		}
		if err := validate(t, a.Bytes()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		back, err := results.ReadJSON(bytes.NewReader(a.Bytes()))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var again bytes.Buffer
		must.Succeed(t, results.JSON(&again, back))
		if diff := cmp.Diff(a.String(), again.String()); diff != "" {
			t.Errorf("%s changes when read and written again:\n%s", name, diff)
		}
		if want := results.Summarize(d.Results.Runs); back.Summary != want {
			t.Errorf("%s: summary %+v, want %+v", name, back.Summary, want)
		}
	}
}

// A program that validates results.json must accept every property, and no other word.
func TestTheSchemaListsTheProperties(t *testing.T) {
	var schema struct {
		Defs struct {
			Property struct{ Enum []checker.Property }
		} `json:"$defs"`
	}
	must.Succeed(t, json.Unmarshal(results.JSONSchema(), &schema))
	if diff := cmp.Diff(propertyOrder, schema.Defs.Property.Enum); diff != "" {
		t.Errorf("results.schema.json does not list the properties of checker:\n%s", diff)
	}
}

// TestJSONGolden compares the document for other programs with the golden file.
func TestJSONGolden(t *testing.T) {
	var b bytes.Buffer
	must.Succeed(t, results.JSON(&b, sample().Results))
	golden(t, "results.json", b.Bytes())
}

func TestReadJSONRefuses(t *testing.T) {
	var b bytes.Buffer
	must.Succeed(t, results.JSON(&b, sample().Results))
	good := b.String()
	edit := func(change func(doc, run map[string]any)) string {
		var doc map[string]any
		must.Succeed(t, json.Unmarshal([]byte(good), &doc))
		change(doc, doc["runs"].([]any)[0].(map[string]any))
		out, err := json.Marshal(doc)
		must.Succeed(t, err)
		return string(out)
	}
	for name, c := range map[string]struct{ doc, says string }{
		"nothing":             {"", "EOF"},
		"not JSON":            {"holdfast", "invalid character"},
		"an array":            {"[]", "object"},
		"cut off":             {good[:len(good)/2], "EOF"},
		"text after it":       {good + "{}", "after top-level value"},
		"another schema":      {edit(func(d, _ map[string]any) { d["schema"] = "holdfast-results/2" }), "holdfast-results/2"},
		"no schema":           {edit(func(d, _ map[string]any) { delete(d, "schema") }), "schema"},
		"an unknown field":    {edit(func(d, _ map[string]any) { d["extra"] = 1 }), "extra"},
		"another case":        {edit(func(_, r map[string]any) { r["Seed"] = r["seed"]; delete(r, "seed") }), "seed"},
		"runs null":           {edit(func(d, _ map[string]any) { d["runs"] = nil }), "/runs"},
		"a negative seed":     {edit(func(_, r map[string]any) { r["seed"] = -1 }), "/runs/0/seed"},
		"a seed with a dot":   {edit(func(_, r map[string]any) { r["seed"] = 1.5 }), "/runs/0/seed"},
		"a bad outcome":       {edit(func(_, r map[string]any) { r["expected"] = map[string]any{"exclusion": "fine"} }), "/runs/0/expected/exclusion"},
		"an unknown property": {edit(func(_, r map[string]any) { r["expected"] = map[string]any{"beauty": "ok"} }), "/runs/0/expected"},
		"a bad hash":          {edit(func(_, r map[string]any) { r["history_sha256"] = "abc" }), "/runs/0/history_sha256"},
		"six operations": {edit(func(_, r map[string]any) {
			r["verdicts"] = map[string]any{"lease": map[string]any{"verdict": "ok", "ops": []int{1, 2, 3, 4, 5, 6}}}
		}), "/runs/0/verdicts/lease/ops"},
		"a verdict without outcome": {edit(func(_, r map[string]any) {
			r["verdicts"] = map[string]any{"lease": map[string]any{}}
		}), "/runs/0/verdicts/lease"},
		"no stats": {edit(func(_, r map[string]any) { delete(r, "stats") }), "stats"},
	} {
		_, err := results.ReadJSON(strings.NewReader(c.doc))
		if !errors.Is(err, results.ErrResults) {
			t.Errorf("%s: error %v, want ErrResults", name, err)
			continue
		}
		if !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: error %q does not say %q", name, err, c.says)
		}
	}
}

func TestJSONRefusesWhatJSONCannotCarry(t *testing.T) {
	res := sample().Results
	res.Runs[0].Stats.WallMS = math.NaN()
	if err := results.JSON(&bytes.Buffer{}, res); err == nil {
		t.Error("a NaN was written")
	}
}

func TestSummarize(t *testing.T) {
	unknown := results.Run{Verdicts: map[checker.Property]checker.Verdict{checker.Exclusion: {Outcome: checker.Unknown}},
		Expected: map[checker.Property]checker.Outcome{checker.Exclusion: checker.OutcomeOK}}
	foreseen := unknown
	foreseen.AsExpected = true
	foreseen.Expected = map[checker.Property]checker.Outcome{checker.Exclusion: checker.Unknown}
	wrong := results.Run{Verdicts: map[checker.Property]checker.Verdict{checker.Exclusion: {Outcome: checker.Violated, Class: checker.LeaseOutlived}},
		Expected:      map[checker.Property]checker.Outcome{checker.Exclusion: checker.Violated},
		ExpectedClass: map[checker.Property]string{checker.Exclusion: checker.ContractBroken}}
	failed := results.Run{AsExpected: true, Failure: "it span"}
	got := results.Summarize([]results.Run{unknown, foreseen, wrong, failed})
	if want := (results.Summary{Runs: 4, AsExpected: 1, Unexpected: 1, Unknown: 2}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
