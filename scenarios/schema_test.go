package scenarios_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(scenarios.Schema()))
	must.Succeed(t, err)
	c := jsonschema.NewCompiler()
	must.Succeed(t, c.AddResource("scenario.schema.json", doc))
	return c.MustCompile("scenario.schema.json")
}

// validates says what the schema has against a YAML document.
func validates(t *testing.T, s *jsonschema.Schema, src string) error {
	t.Helper()
	text, err := yaml.YAMLToJSON([]byte(src))
	if err != nil {
		return fmt.Errorf("not YAML: %w", err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	must.Succeed(t, err)
	return s.Validate(doc)
}

func TestSchemaAcceptsTheCatalogue(t *testing.T) {
	s := compiled(t)
	for _, name := range scenarios.Names() {
		src, err := scenarios.Source(name)
		must.Succeed(t, err)
		if err := validates(t, s, string(src)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := validates(t, s, good); err != nil {
		t.Error(err)
	}
}

// The loader refuses every file that the schema refuses (TestParse); and the schema
// refuses all that a schema can know.
func TestSchemaAgreesWithTheLoader(t *testing.T) {
	s := compiled(t)
	for _, tt := range bad {
		t.Run(tt.name, func(t *testing.T) {
			if err := validates(t, s, spoiled(t, tt.old, tt.new)); tt.schema && err == nil {
				t.Error("the schema accepts it")
			}
		})
	}
}

// The schema lists words that the code has as well.
func TestSchemaKnowsAllWords(t *testing.T) {
	var doc struct {
		Defs struct {
			Lock  struct{ Enum []string }
			Need  struct{ Enum []string }
			Fault struct {
				Properties struct{ Fault struct{ Enum []string } }
			}
			Anchor struct {
				Properties struct{ Moment struct{ Enum []string } }
			}
		} `json:"$defs"`
	}
	must.Succeed(t, json.Unmarshal(scenarios.Schema(), &doc))
	var known []string
	for _, k := range faults.Vocabulary() {
		known = append(known, k.Name)
	}
	for what, diff := range map[string]string{
		"locks":   cmp.Diff(locks.Names(), doc.Defs.Lock.Enum),
		"needs":   cmp.Diff(scenarios.NeedWords(), doc.Defs.Need.Enum),
		"faults":  cmp.Diff(known, doc.Defs.Fault.Properties.Fault.Enum),
		"moments": cmp.Diff(faults.Moments(), doc.Defs.Anchor.Properties.Moment.Enum),
	} {
		if diff != "" {
			t.Errorf("%s (-code +schema):\n%s", what, diff)
		}
	}
}
