// Package emit writes the files with which Kubernetes or GitHub plays the shards
// of an exploration.
package emit

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"github.com/holdfast-go/holdfast/internal/outdir"
	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/holdfast-go/holdfast/internal/whole"
)

// The templates have holes for names out of fixed vocabularies, for numbers and
// for an image, so that nothing in them needs an escape. A hole is [[.Name]]:
// GitHub has the curly braces.
//
//go:embed *.tmpl Dockerfile
var files embed.FS

// Engine is something that other people run, and that plays the shards of an
// exploration.
type Engine struct {
	Name  string
	file  string // what it reads
	Image bool   // it runs an image
	Most  int    // shards that it takes
}

// Engines are those that there are.
var Engines = []Engine{
	{Name: "k8s", file: "job.yaml", Image: true, Most: suite.MaxShards},
	{Name: "github", file: "workflow.yaml", Most: 256},
}

// Names are those of the engines.
func Names() []string {
	var names []string
	for _, e := range Engines {
		names = append(names, e.Name)
	}
	return names
}

// Exploration is an exploration as an engine plays it.
type Exploration struct {
	Engine    Engine
	By        string // the command that writes it
	Explore   string // the command of a shard, without its --shard and --out
	Name      string // of the exploration among others: no longer than a cluster takes
	Lock      string
	Shards    int
	Image     string
	CPUs      int // per shard
	MemoryMiB int // per shard
}

// Numbers are the numbers of all shards, as a list in YAML.
func (e Exploration) Numbers() string {
	numbers := make([]string, e.Shards)
	for i := range numbers {
		numbers[i] = fmt.Sprint(i + 1)
	}
	return "[" + strings.Join(numbers, ", ") + "]"
}

// ImageName is what may be in the name of an image.
var ImageName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/@-]*$`)

// Write writes the file that the engine reads.
func (e Exploration) Write(w io.Writer) error {
	file := e.Engine.file
	t, err := template.New(file+".tmpl").Delims("[[", "]]").ParseFS(files, file+".tmpl")
	if err != nil {
		return err
	}
	return t.Execute(w, e)
}

// emittedLine is a line of every file that --emit writes.
var emittedLine = regexp.MustCompile(`(?m)^# (Written by: holdfast explore |The image that plays the shards of an exploration)`)

// Save writes what the engine needs into a directory, and returns the paths. The
// directory may hold anything; of files of the same names Save replaces only what
// --emit wrote.
func (e Exploration) Save(dir string) ([]string, error) {
	var text strings.Builder
	if err := e.Write(&text); err != nil {
		return nil, err
	}
	contents := map[string]string{e.Engine.file: text.String()}
	if e.Engine.Image {
		dockerfile, err := files.ReadFile("Dockerfile")
		if err != nil {
			return nil, err
		}
		contents["Dockerfile"] = string(dockerfile)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("output directory: %w", err)
	}
	var paths []string
	for _, name := range slices.Sorted(maps.Keys(contents)) {
		path := filepath.Join(dir, name)
		old, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if err == nil && !emittedLine.Match(old) {
			return nil, fmt.Errorf("output directory: %s is there: %w", path, outdir.ErrForeign)
		}
		paths = append(paths, path)
	}
	for _, path := range paths {
		if err := whole.Bytes(path, []byte(contents[filepath.Base(path)])); err != nil {
			return nil, err
		}
	}
	return paths, nil
}
