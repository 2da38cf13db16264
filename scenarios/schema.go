package scenarios

import _ "embed"

//go:embed scenario.schema.json
var schema []byte

// Schema returns the JSON Schema (draft 2020-12) of a scenario file, for
// editors and for programs that write scenarios. [Parse] checks more: what a
// schema cannot say, such as that a fault's target exists.
func Schema() []byte { return append([]byte(nil), schema...) }
