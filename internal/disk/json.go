package disk

import (
	"encoding/json"
	"io"
)

// JSON writes a document to a file.
func JSON(path string, doc any) error {
	return File(path, func(w io.Writer) error { return EncodeJSON(w, doc) })
}

// EncodeJSON writes a document in a form that people can read, too.
func EncodeJSON(w io.Writer, doc any) error {
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	out.SetEscapeHTML(false)
	return out.Encode(doc)
}
