package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// mutated are the packages that the rules change.
var mutated = []string{"lock", "internal/textbook"}

const module = "github.com/holdfast-go/holdfast"

// errNoSource means that the Go toolchain or the source is missing.
var errNoSource = errors.New("mutants are built from the source of " + module + " with the Go toolchain")

// source is the locks with all of their mutants.
type source struct {
	Mutants []*Mutant // by file and place
	root    string    // of the module
	files   map[string]*goFile
}

// loadSource finds the mutants of the module that contains dir. It returns
// [errNoSource] without a Go toolchain, or if dir is elsewhere.
func loadSource(ctx context.Context, dir string) (*source, error) {
	root, err := findModule(ctx, dir)
	if err != nil {
		return nil, err
	}
	listed, err := list(ctx, root)
	if err != nil {
		return nil, err
	}
	s := &source{root: root, files: map[string]*goFile{}}
	set := token.NewFileSet()
	for _, l := range listed {
		if l.ours() {
			if err := s.load(set, l, listed); err != nil {
				return nil, err
			}
		}
	}
	identify(s.Mutants)
	return s, nil
}

func findModule(ctx context.Context, dir string) (root string, err error) {
	if _, err := exec.LookPath("go"); err != nil {
		return "", fmt.Errorf("%w: go is not in PATH", errNoSource)
	}
	out, err := goCommand(ctx, dir, "list", "-m", "-f", "{{.Path}} {{.Dir}}")
	for line := range strings.Lines(string(out)) { // one for each module of a workspace
		if path, root, _ := strings.Cut(strings.TrimSpace(line), " "); err == nil && path == module {
			return root, nil
		}
	}
	return "", fmt.Errorf("%w: %s is not in that module", errNoSource, dir)
}

// tools is the folder of this module, where the locks and the switches build together.
func (s *source) tools() string { return filepath.Join(s.root, "tools") }

// goCommand runs the go command, and returns its output. The error contains its
// messages.
func goCommand(ctx context.Context, dir string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
		err = fmt.Errorf("go %s: %s", args[0], strings.TrimSpace(string(failed.Stderr)))
	}
	return out, err
}

// listedPackage is a package in the output of go list.
type listedPackage struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
}

func (p listedPackage) folder() string { return strings.TrimPrefix(p.ImportPath, module+"/") }

// ours reports whether the rules change the package.
func (p listedPackage) ours() bool { return slices.Contains(mutated, p.folder()) }

// list returns the packages and all their imports, with the exported types.
func list(ctx context.Context, root string) ([]listedPackage, error) {
	args := []string{"list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles"}
	for _, folder := range mutated {
		args = append(args, module+"/"+folder)
	}
	out, err := goCommand(ctx, root, args...)
	if err != nil {
		return nil, err
	}
	var all []listedPackage
	for in := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listedPackage
		if err := in.Decode(&p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, fmt.Errorf("read go list: %w", err)
		}
		all = append(all, p)
	}
}

// goPackage is a package during the search for mutants.
type goPackage struct {
	source     *source
	info       *types.Info
	constants  map[types.Object]*declaration
	scripts    map[types.Object]*script   // by the variable with the text
	made       map[types.Object][]*script // by the variable made from them
	sole       map[ast.Stmt]bool          // statements that belong to the enclosing one
	conditions map[ast.Expr]bool          // negated already
}

// add adds a mutant, and returns its number.
func (p *goPackage) add(m *Mutant) int {
	p.source.Mutants = append(p.source.Mutants, m)
	m.number = len(p.source.Mutants)
	return m.number
}

// declaration is a constant of a package. The first use creates its mutants.
type declaration struct {
	name    string
	in      *goFile
	value   ast.Expr
	numbers []int
}

// find makes the mutants of the constant.
func (d *declaration) find(p *goPackage) {
	if d.numbers != nil {
		return
	}
	outer := d.in.where
	d.in.where = d.name
	text := d.in.source(d.value)
	if isDuration(p.info.Types[d.value].Type) {
		d.numbers = []int{d.in.mutate(d.value, "tenfold", "10 * "+text), d.in.mutate(d.value, "tenth", text+" / 10")}
	} else {
		d.numbers = []int{d.in.mutate(d.value, "constant", text+" + 1")}
	}
	d.in.where = outer
}

// declared is the constant of the package that an expression names; nil without
// one.
func (p *goPackage) declared(e ast.Expr) *declaration {
	if name, ok := e.(*ast.Ident); ok {
		return p.constants[p.info.Uses[name]]
	}
	return nil
}

// load finds the mutants of a package.
func (s *source) load(set *token.FileSet, l listedPackage, all []listedPackage) error {
	exports := map[string]string{}
	for _, p := range all {
		exports[p.ImportPath] = p.Export
	}
	imports := importer.ForCompiler(set, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	pkg := &goPackage{
		source:    s,
		info:      &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}},
		constants: map[types.Object]*declaration{}, scripts: map[types.Object]*script{}, made: map[types.Object][]*script{},
		sole: map[ast.Stmt]bool{}, conditions: map[ast.Expr]bool{},
	}
	var files []*goFile
	var trees []*ast.File
	for _, name := range l.GoFiles {
		text, err := os.ReadFile(filepath.Join(l.Dir, name))
		if err != nil {
			return fmt.Errorf("read source: %w", err)
		}
		tree, err := parser.ParseFile(set, filepath.Join(l.Dir, name), text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return fmt.Errorf("parse source: %w", err)
		}
		f := &goFile{rewrite: rewrite{text: string(text)}, file: l.folder() + "/" + name, pkg: pkg, base: set.File(tree.Pos()), skip: map[ast.Node]bool{}}
		files, trees = append(files, f), append(trees, tree)
	}
	if _, err := (&types.Config{Importer: imports}).Check(l.ImportPath, set, trees, pkg.info); err != nil {
		return fmt.Errorf("check types: %w", err)
	}
	for i, f := range files {
		if err := pkg.declarations(f, trees[i], l.Dir); err != nil {
			return err
		}
	}
	for _, tree := range trees {
		pkg.madeFrom(tree)
	}
	for i, f := range files {
		f.find(trees[i])
		if f.changed() {
			f.wrap(f.offset(trees[i].Name.End()), f.offset(trees[i].Name.End()), "", fmt.Sprintf("; import %q", module+"/tools/mutation/schemata"))
			s.files[f.file] = f
		}
	}
	return nil
}

// declarations records the constants and the scripts of a file.
func (p *goPackage) declarations(f *goFile, tree *ast.File, dir string) error {
	for _, d := range tree.Decls {
		d, ok := d.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, s := range d.Specs {
			spec, ok := s.(*ast.ValueSpec)
			if !ok {
				continue
			}
			for i, name := range spec.Names {
				object := p.info.Defs[name]
				switch {
				case d.Tok == token.CONST && i < len(spec.Values):
					p.constants[object] = &declaration{name: name.Name, in: f, value: spec.Values[i]}
				case d.Tok == token.VAR && len(spec.Values) == 0:
					if err := p.embeds(object, f.file, dir, d.Doc, spec.Doc); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

// madeFrom records the variables of a file that are made from scripts.
func (p *goPackage) madeFrom(tree *ast.File) {
	for _, d := range tree.Decls {
		d, ok := d.(*ast.GenDecl)
		if !ok || d.Tok != token.VAR {
			continue
		}
		for _, s := range d.Specs {
			spec := s.(*ast.ValueSpec)
			for i := range min(len(spec.Names), len(spec.Values)) {
				object := p.info.Defs[spec.Names[i]]
				ast.Inspect(spec.Values[i], func(n ast.Node) bool {
					if name, ok := n.(*ast.Ident); ok && p.scripts[p.info.Uses[name]] != nil {
						p.made[object] = append(p.made[object], p.scripts[p.info.Uses[name]])
					}
					return true
				})
			}
		}
	}
}

// embeds records a variable that holds the text of a script.
func (p *goPackage) embeds(object types.Object, file, dir string, docs ...*ast.CommentGroup) error {
	for _, doc := range docs {
		if doc == nil {
			continue
		}
		for _, c := range doc.List {
			name, ok := strings.CutPrefix(c.Text, "//go:embed ")
			if name = strings.TrimSpace(name); !ok || !strings.HasSuffix(name, ".lua") {
				continue
			}
			text, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				return fmt.Errorf("read script: %w", err)
			}
			found := &script{file: file[:strings.LastIndexByte(file, '/')+1] + name, text: string(text)}
			if err := found.find(p); err != nil {
				return err
			}
			p.scripts[object] = found
		}
	}
	return nil
}
