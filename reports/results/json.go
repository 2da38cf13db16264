package results

import (
	"bytes"
	_ "embed" // the schema
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/internal/disk"
	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/internal/input"
)

//go:embed results.schema.json
var schemaJSON []byte

// ErrResults marks a document that is not a valid holdfast-results/1 document.
var ErrResults = errors.New("reports: not a valid results document")

// JSONSchema returns the published JSON Schema (draft 2020-12) of [Results]. It
// lists the properties of the checker.
func JSONSchema() []byte {
	names, err := json.Marshal(propertyNames())
	if err != nil {
		panic(err) // a list of strings
	}
	const anyName = `"property": {"type": "string"}`
	return bytes.Replace(schemaJSON, []byte(anyName), fmt.Appendf(nil, `"property": {"enum": %s}`, names), 1)
}

func propertyNames() []string {
	return english.Words(checker.Properties(), func(p checker.PropertyInfo) string { return string(p.Name) })
}

// JSON writes results as one document that [JSONSchema] accepts. The same results
// give the same bytes. JSON derives Schema and Summary from the rest.
func JSON(w io.Writer, res Results) error {
	res.Schema = Schema
	res.Summary = Summarize(res.Runs)
	runs := make([]Run, len(res.Runs))
	copy(runs, res.Runs)
	for i := range runs {
		// A run without verdicts gets an empty object, so that readers need not
		// handle null.
		if runs[i].Verdicts == nil {
			runs[i].Verdicts = map[checker.Property]checker.Verdict{}
		}
		if runs[i].Expected == nil {
			runs[i].Expected = map[checker.Property]checker.Outcome{}
		}
	}
	res.Runs = runs
	if err := disk.EncodeJSON(w, res); err != nil {
		return fmt.Errorf("write results: %w", err)
	}
	return nil
}

// ReadJSON reads a document that [JSON] wrote. It refuses anything else, also an
// unknown field or text after the document. The error is [ErrResults] and names
// the place.
func ReadJSON(r io.Reader) (Results, error) {
	data, err := input.ReadAll(r, input.MaxDocument)
	if err != nil {
		return Results{}, fmt.Errorf("read results: %w", err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return Results{}, fmt.Errorf("%w: %s", ErrResults, input.Plain(err.Error()))
	}
	if m, ok := doc.(map[string]any); ok {
		if s, ok := m["schema"].(string); ok && s != Schema {
			return Results{}, fmt.Errorf("%w: its schema is %s, this version reads %q", ErrResults, input.Quote(s), Schema)
		}
	}
	schema, err := compiledSchema()
	if err != nil {
		return Results{}, err
	}
	if err := schema.Validate(doc); err != nil {
		return Results{}, fmt.Errorf("%w: %s", ErrResults, input.Plain(firstProblem(err)))
	}
	var res Results
	if err := (input.JSON{Null: true}).Unmarshal(data, &res); err != nil {
		return Results{}, fmt.Errorf("%w: %w", ErrResults, err)
	}
	for i, r := range res.Runs {
		if err := r.checkProperties(); err != nil {
			return Results{}, fmt.Errorf("%w: /runs/%d%w", ErrResults, i, err)
		}
	}
	return res, nil
}

// checkProperties returns an error with the place of a name that is no property.
// The validator of the schema gives no place for the name of a field.
func (r Run) checkProperties() error {
	for _, field := range []struct {
		at    string
		names iter.Seq[checker.Property]
	}{
		{"/verdicts", maps.Keys(r.Verdicts)},
		{"/expected", maps.Keys(r.Expected)},
		{"/expected_class", maps.Keys(r.ExpectedClass)},
		{"/because", maps.Keys(r.Because)},
		{"/accepted", maps.Keys(r.Accepted)},
	} {
		for _, name := range slices.Sorted(field.names) {
			if !slices.Contains(propertyNames(), string(name)) {
				return fmt.Errorf("%s: %s is no property, choose from %s", field.at, input.Quote(string(name)), english.Or(propertyNames()))
			}
		}
	}
	return nil
}

var compiledSchema = sync.OnceValues(func() (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schemaJSON))
	if err != nil {
		return nil, fmt.Errorf("read the results schema: %w", err)
	}
	const at = "results.schema.json"
	c := jsonschema.NewCompiler()
	if err := c.AddResource(at, doc); err != nil {
		return nil, fmt.Errorf("read the results schema: %w", err)
	}
	return c.Compile(at)
})

// firstProblem is the first cause of a validation error that has no causes of
// its own: "/runs/0/seed: got string, want integer".
func firstProblem(err error) string {
	var v *jsonschema.ValidationError
	if !errors.As(err, &v) {
		return err.Error()
	}
	for len(v.Causes) > 0 {
		v = slices.MinFunc(v.Causes, func(a, b *jsonschema.ValidationError) int {
			return slices.Compare(a.InstanceLocation, b.InstanceLocation)
		})
	}
	at := "/" + strings.Join(v.InstanceLocation, "/")
	out := v.BasicOutput()
	for len(out.Errors) > 0 {
		out = &out.Errors[0]
	}
	if out.Error == nil {
		return at
	}
	return at + ": " + out.Error.String()
}
