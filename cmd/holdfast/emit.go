package main

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

	"github.com/spf13/cobra"

	"github.com/holdfast-go/holdfast/internal/outdir"
	"github.com/holdfast-go/holdfast/internal/whole"
	"github.com/holdfast-go/holdfast/suite"
)

// The templates have holes for names out of fixed vocabularies, for numbers and
// for an image, so that nothing in them needs an escape. A hole is [[.Name]]:
// GitHub has the curly braces.
//
//go:embed emit
var emitFiles embed.FS

// engine is something that other people run, and that plays the shards of an
// exploration.
type engine struct {
	name  string
	file  string // what it reads
	image bool   // it runs an image
	most  int    // shards that it takes
}

var engines = []engine{
	{name: "k8s", file: "job.yaml", image: true, most: suite.MaxShards},
	{name: "github", file: "workflow.yaml", most: 256},
}

func engineNames() []string {
	var names []string
	for _, e := range engines {
		names = append(names, e.name)
	}
	return names
}

// emission is an exploration as an engine plays it.
type emission struct {
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
func (e emission) Numbers() string {
	numbers := make([]string, e.Shards)
	for i := range numbers {
		numbers[i] = fmt.Sprint(i + 1)
	}
	return "[" + strings.Join(numbers, ", ") + "]"
}

// emits says whether the exploration is for others to play: one of the flags
// that only that has is given.
func emits(c *cobra.Command) bool {
	return slices.ContainsFunc([]string{"emit", "shards", "image"}, c.Flags().Changed)
}

// emitExplore writes what an engine needs to play the exploration, which is
// not played here.
func emitExplore(c *cobra.Command, f exploreFlags) error {
	e, err := f.engine(c.Flags().Changed)
	if err != nil {
		return err
	}
	m := newEmission(f, e, c.Flags().Changed)
	if f.out == "" {
		if err := m.write(c.OutOrStdout(), e.file); err != nil {
			return defect(fmt.Errorf("print %s: %w", e.file, err))
		}
		return nil
	}
	paths, err := m.save(f.out, e)
	if err != nil {
		return badInput(err, "choose another directory with --out", "--emit replaces only files that it wrote")
	}
	_, err = fmt.Fprintln(c.OutOrStdout(), strings.Join(paths, "\n"))
	return err
}

// imageName is what may be in the name of an image.
var imageName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/@-]*$`)

// engine is what is to play the shards; an error says what it cannot.
func (f *exploreFlags) engine(given func(flag string) bool) (engine, error) {
	if !given("emit") {
		return engine{}, usage("--shards and --image go with --emit", "--emit writes what "+strings.Join(engineNames(), " or ")+" needs; --shard I/N plays one of N shards here")
	}
	i := slices.Index(engineNames(), f.emit)
	if i < 0 {
		return engine{}, usage(fmt.Sprintf("--emit %s: must be one of %s", f.emit, strings.Join(engineNames(), ", ")), didYouMean(f.emit, engineNames()))
	}
	e := engines[i]
	switch {
	case given("shard"):
		return e, usage("--shard does not go with --emit", "--shards N says how many shards there are; what is written plays each of them")
	case given("known"):
		return e, usage("--known does not go with --emit: the shards do not have that file", "leave it out; what is known is found again")
	case given("format"):
		return e, usage("--format does not go with --emit", "what is written is YAML")
	case given("image") && !e.image:
		return e, usage("--image does not go with --emit "+e.name, "it builds holdfast from its source")
	case !imageName.MatchString(f.image):
		return e, usage(fmt.Sprintf("--image %q is not the name of an image", f.image), "such as --image registry.example.com/holdfast:"+version)
	case f.shards < 1 || f.shards > e.most:
		return e, usage(fmt.Sprintf("--shards must be from 1 to %d with --emit %s", e.most, e.name))
	case f.runs > 0 && f.runs < f.shards:
		return e, usage(fmt.Sprintf("%d shards of %d runs: some would have none", f.shards, f.runs), "give more --runs, or fewer --shards")
	}
	return e, nil
}

func newEmission(f exploreFlags, e engine, given func(flag string) bool) emission {
	words := []string{exploreCommand(f)}
	if given("stall") {
		words = append(words, "--stall", f.stall.String())
	}
	switch {
	case given("workers"):
		words = append(words, "--workers", fmt.Sprint(f.workers))
	case e.image: // a pod sees all cores of its node, whatever it has asked for
		f.workers = 1
		words = append(words, "--workers 1")
	}
	explore := strings.Join(words, " ")
	by := fmt.Sprintf("%s --emit %s --shards %d", explore, e.name, f.shards)
	if e.image {
		by += " --image " + f.image
	}
	return emission{
		By: by, Explore: explore, Name: fmt.Sprintf("%s-%d", f.lock, f.seed), Lock: f.lock, Shards: f.shards,
		Image: f.image, CPUs: f.workers, MemoryMiB: 128 + 128*f.workers, // about twice of what was seen
	}
}

func (m emission) write(w io.Writer, file string) error {
	t, err := template.New(file+".tmpl").Delims("[[", "]]").ParseFS(emitFiles, "emit/"+file+".tmpl")
	if err != nil {
		return err
	}
	return t.Execute(w, m)
}

// emittedLine is a line of every file that --emit writes.
var emittedLine = regexp.MustCompile(`(?m)^# (Written by: holdfast explore |The image that plays the shards of an exploration)`)

// save writes what the engine needs into a directory, and returns the paths. The
// directory may hold anything; of files of the same names save replaces only what
// --emit wrote.
func (m emission) save(dir string, e engine) ([]string, error) {
	var text strings.Builder
	if err := m.write(&text, e.file); err != nil {
		return nil, err
	}
	files := map[string]string{e.file: text.String()}
	if e.image {
		dockerfile, err := emitFiles.ReadFile("emit/Dockerfile")
		if err != nil {
			return nil, err
		}
		files["Dockerfile"] = string(dockerfile)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("output directory: %w", err)
	}
	var paths []string
	for _, name := range slices.Sorted(maps.Keys(files)) {
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
		if err := whole.Bytes(path, []byte(files[filepath.Base(path)])); err != nil {
			return nil, err
		}
	}
	return paths, nil
}
