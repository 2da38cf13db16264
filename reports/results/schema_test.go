package results

import (
	"encoding/json"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-go/holdfast/internal/must"
)

// node is a part of a JSON Schema.
type node struct {
	Ref        string           `json:"$ref"`
	Type       string           `json:"type"`
	Const      any              `json:"const"`
	Enum       []any            `json:"enum"`
	Properties map[string]*node `json:"properties"`
	Required   []string         `json:"required"`
	Items      *node            `json:"items"`
	Additional json.RawMessage  `json:"additionalProperties"`
	Defs       map[string]*node `json:"$defs"`
}

// A reader of results relies on the published schema. A field of the document that the
// schema lacks, or has with another type, would make it refuse what holdfast writes.
func TestTheSchemaIsThatOfTheStructs(t *testing.T) {
	var root node
	must.Succeed(t, json.Unmarshal(JSONSchema(), &root))
	compareSchema(t, root.Defs, "results", &root, reflect.TypeFor[Results]())
}

func compareSchema(t *testing.T, defs map[string]*node, at string, n *node, typ reflect.Type) {
	if n.Ref != "" {
		n = defs[path.Base(n.Ref)]
	}
	kind := map[reflect.Kind]string{reflect.String: "string", reflect.Bool: "boolean", reflect.Int: "integer", reflect.Int64: "integer", reflect.Uint64: "integer",
		reflect.Float64: "number", reflect.Slice: "array", reflect.Map: "object", reflect.Struct: "object"}
	for typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	if n.Type != kind[typ.Kind()] && (typ.Kind() != reflect.String || n.Const == nil && n.Enum == nil) {
		t.Errorf("%s: the schema has type %q, the document %s", at, n.Type, typ)
	}
	switch typ.Kind() {
	case reflect.Slice:
		compareSchema(t, defs, at+"[]", n.Items, typ.Elem())
	case reflect.Map:
		var values node
		must.Succeed(t, json.Unmarshal(n.Additional, &values))
		compareSchema(t, defs, at+"{}", &values, typ.Elem())
	case reflect.Struct:
		if string(n.Additional) != "false" {
			t.Errorf("%s: the schema accepts unknown fields", at)
		}
		var names, required []string
		for _, f := range reflect.VisibleFields(typ) {
			name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			if f.Anonymous || name == "-" || !f.IsExported() {
				continue
			}
			names = append(names, name)
			if !strings.Contains(options, "omit") {
				required = append(required, name)
			}
			if field := n.Properties[name]; field != nil {
				compareSchema(t, defs, at+"."+name, field, f.Type)
			}
		}
		var listed []string
		for name := range n.Properties {
			listed = append(listed, name)
		}
		for what, lists := range map[string][2][]string{"fields": {listed, names}, "required fields": {n.Required, required}} {
			slices.Sort(lists[0])
			slices.Sort(lists[1])
			if diff := cmp.Diff(lists[0], lists[1]); diff != "" {
				t.Errorf("%s: %s of the schema (-) and of the document (+):\n%s", at, what, diff)
			}
		}
	}
}
