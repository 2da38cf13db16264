package scenarios

import (
	"bytes"
	_ "embed"
)

//go:embed scenario.schema.json
var schema []byte

// Schema returns the JSON Schema (draft 2020-12) of a scenario file, for editors and for
// programs that write scenarios. [Parse] checks more, such as the targets of faults.
func Schema() []byte { return bytes.Clone(schema) }
