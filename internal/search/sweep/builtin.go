package sweep

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/holdfast-go/holdfast/internal/english"
)

//go:embed scenarios/*.yaml
var builtin embed.FS

// Names lists the scenarios that are made to be swept. Their fault comes at a moment that
// the seed draws, so that the probability is one per fault.
func Names() []string {
	files, err := builtin.ReadDir("scenarios")
	if err != nil {
		panic(err) // they are part of the program
	}
	return english.Words(files, func(f fs.DirEntry) string { return strings.TrimSuffix(f.Name(), ".yaml") })
}

// Source is the file of one of them.
func Source(name string) ([]byte, error) {
	src, err := builtin.ReadFile(path.Join("scenarios", name+".yaml"))
	if err != nil {
		return nil, fmt.Errorf("unknown scenario %q", name)
	}
	return src, nil
}
