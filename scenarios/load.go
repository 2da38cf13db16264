package scenarios

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/holdfast-go/holdfast/internal/input"
)

// SourceError is an error in a scenario file, with its position. Lines and columns
// count from 1.
type SourceError struct {
	File    string
	Line    int
	Column  int
	Message string
	Hint    string // a correction; may be empty
}

// Error is one line, "file:line:col: message", with the hint in a second.
func (e *SourceError) Error() string {
	s := e.Where() + ": " + e.Message
	if e.Hint != "" {
		s += "\nhint: " + e.Hint
	}
	return s
}

// Where is "file:line:col".
func (e *SourceError) Where() string {
	return fmt.Sprintf("%s:%d:%d", e.File, e.Line, e.Column)
}

// Parse reads a scenario. name is the file name for errors. Every error is a
// [*SourceError] about the first mistake. Settings that the file leaves out stay
// zero; see [Scenario.WithDefaults].
func Parse(name string, src []byte) (*Scenario, error) {
	var s Scenario
	d, err := decode(name, src, &s)
	if err != nil {
		return nil, err
	}
	if err := validate(&s, d); err != nil {
		return nil, err
	}
	return &s, nil
}

// Load reads the scenario in a file.
func Load(path string) (*Scenario, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read scenario: %w", err)
	}
	if info.IsDir() {
		return nil, fmt.Errorf("read scenario: %s is a folder, not a file", path)
	}
	src, err := ReadSource(path)
	if err != nil {
		return nil, fmt.Errorf("read scenario: %w", err)
	}
	return Parse(filepath.ToSlash(path), src)
}

// ReadSource reads the text of a scenario, for [Parse]. It reads at most the size
// limit of a scenario.
func ReadSource(path string) ([]byte, error) { return input.ReadFile(path, maxSource) }
