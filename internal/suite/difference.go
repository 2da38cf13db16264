package suite

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"
)

// Difference names the first field in which two documents of one type differ, by
// their JSON, or "".
func Difference(a, b any) string {
	x, y := fieldsOf(a), fieldsOf(b)
	all := maps.Clone(x)
	maps.Copy(all, y)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !bytes.Equal(x[name], y[name]) {
			return name
		}
	}
	return ""
}

func fieldsOf(doc any) map[string]json.RawMessage {
	fields := map[string]json.RawMessage{}
	raw, err := json.Marshal(doc)
	if err = errors.Join(err, json.Unmarshal(raw, &fields)); err != nil {
		panic("suite: encode results: " + err.Error()) // they were read from JSON
	}
	return fields
}
