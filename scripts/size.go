//go:build ignore

// Size counts what a reader of Holdfast has to find a way through, and compares each
// count with its ceiling. Run it in the root of the repository, as make size does.
// With -list it prints the exported identifiers. Exit code 1 is a count above its ceiling.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// modules are the ones of which lines and packages count. Tools, examples and other
// people's locks are read by themselves.
var modules = []string{"./...", "./lock/..."}

// lockPath is the module of the reference lock.
const lockPath = "github.com/holdfast-go/holdfast/lock/"

// count is a number with its ceiling, and the item that makes it.
type count struct {
	what    string
	n, most int
	item    string
}

// pkg is a package as go list prints it.
type pkg struct {
	Dir, ImportPath, Name string
	GoFiles, Imports      []string
}

func main() {
	log.SetFlags(0)
	list := flag.Bool("list", false, "print the exported identifiers of the importable packages")
	flag.Parse()
	pkgs := readPackages()
	importable, exported := countSurface(pkgs, *list)
	lines, function, file := countGo(pkgs)
	linesOfLock, functionOfLock, _ := countGo(slices.DeleteFunc(slices.Clone(pkgs), isOutsideLock))
	functionOfLock.what, functionOfLock.most = "lines of its longest function", 60
	counts := []count{
		{"visible top-level folders", len(visibleFolders()), 14, ""},
		{"packages", len(pkgs), 55, ""},
		{"importable packages", importable, 14, ""},
		{"exported identifiers of these", exported, 307, ""},
		{"lines of Go and Lua", lines, 86200, ""},
		function, file,
		{"lines of Go and Lua in lock/", linesOfLock, 5000, ""},
		functionOfLock,
		{"lines of docs", countLines("docs/*.md", "docs/*/*.md"), 6000, ""},
		{"direct dependencies", countDependencies(), 19, ""},
	}
	over := false
	for _, c := range counts {
		fmt.Printf("%-32s %6d of %6d  %s\n", c.what, c.n, c.most, c.item)
		over = over || c.n > c.most
	}
	if over {
		os.Exit(1)
	}
}

// readPackages lists the packages without test kits, which only tests import.
func readPackages() []pkg {
	out, err := exec.Command("go", append([]string{"list", "-json=Dir,ImportPath,Name,GoFiles,Imports"}, modules...)...).Output()
	check(err)
	var all []pkg
	imported := map[string]bool{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else {
			check(err)
		}
		all = append(all, p)
		for _, i := range p.Imports {
			imported[i] = true
		}
	}
	return slices.DeleteFunc(all, func(p pkg) bool {
		kit := strings.Contains(p.ImportPath, "/internal/") && p.Name != "main" && !imported[p.ImportPath]
		return kit || len(p.GoFiles) == 0 || strings.Contains(p.ImportPath, "/examples")
	})
}

// countSurface counts the packages that others can import, and their exported functions,
// types, variables and constants.
func countSurface(pkgs []pkg, list bool) (packages, identifiers int) {
	for _, p := range pkgs {
		if p.Name == "main" || strings.Contains(p.ImportPath, "/internal/") {
			continue
		}
		var names []string
		for _, f := range parseFiles(p) {
			for _, d := range f.ast.Decls {
				names = append(names, exportedNames(d)...)
			}
		}
		packages++
		identifiers += len(names)
		if list {
			slices.Sort(names)
			fmt.Printf("%s: %d\n  %s\n", p.ImportPath, len(names), strings.Join(names, " "))
		}
	}
	return packages, identifiers
}

// exportedNames are the exported names that a declaration declares in its package.
func exportedNames(d ast.Decl) (names []string) {
	add := func(ids ...*ast.Ident) {
		for _, id := range ids {
			if id.IsExported() {
				names = append(names, id.Name)
			}
		}
	}
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			add(d.Name)
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				add(s.Name)
			case *ast.ValueSpec:
				add(s.Names...)
			}
		}
	}
	return names
}

// source is a Go file.
type source struct {
	path  string
	lines int
	set   *token.FileSet
	ast   *ast.File
}

// parseFiles parses the files of a package that are not tests.
func parseFiles(p pkg) (files []source) {
	for _, name := range p.GoFiles {
		path := filepath.Join(p.Dir, name)
		text, err := os.ReadFile(path)
		check(err)
		set := token.NewFileSet()
		parsed, err := parser.ParseFile(set, path, text, parser.SkipObjectResolution)
		check(err)
		files = append(files, source{path, bytes.Count(text, []byte("\n")), set, parsed})
	}
	return files
}

// countGo counts the lines of packages, and finds their longest function and file.
func countGo(pkgs []pkg) (lines int, function, file count) {
	function, file = count{what: "lines of the longest function", most: 90}, count{what: "lines of the longest file", most: 450}
	root, err := os.Getwd()
	check(err)
	for _, p := range pkgs {
		scripts, err := filepath.Glob(filepath.Join(p.Dir, "*.lua"))
		check(err)
		lines += countLines(scripts...)
		for _, f := range parseFiles(p) {
			name, err := filepath.Rel(root, f.path)
			check(err)
			lines += f.lines
			file = longer(file, f.lines, name)
			for _, d := range f.ast.Decls {
				if d, ok := d.(*ast.FuncDecl); ok {
					function = longer(function, f.set.Position(d.End()).Line-f.set.Position(d.Pos()).Line+1, name+" "+d.Name.Name)
				}
			}
		}
	}
	return lines, function, file
}

// isOutsideLock says whether a package is no part of the reference lock.
func isOutsideLock(p pkg) bool { return !strings.HasPrefix(p.ImportPath+"/", lockPath) }

// longer is c, or an item with a larger number.
func longer(c count, n int, item string) count {
	if n > c.n {
		c.n, c.item = n, item
	}
	return c
}

// countLines counts the lines of the files that match patterns.
func countLines(patterns ...string) (n int) {
	for _, p := range patterns {
		files, err := filepath.Glob(p)
		check(err)
		for _, f := range files {
			text, err := os.ReadFile(f)
			check(err)
			n += bytes.Count(text, []byte("\n"))
		}
	}
	return n
}

// visibleFolders are the folders of the root that git has, without hidden ones.
func visibleFolders() []string {
	out, err := exec.Command("git", "ls-files").Output()
	check(err)
	var folders []string
	for path := range strings.Lines(string(out)) {
		if folder, _, below := strings.Cut(path, "/"); below && !strings.HasPrefix(folder, ".") {
			folders = append(folders, folder)
		}
	}
	return slices.Compact(folders)
}

// countDependencies counts the modules that go.mod requires itself.
func countDependencies() (n int) {
	out, err := exec.Command("go", "mod", "edit", "-json").Output()
	check(err)
	var mod struct{ Require []struct{ Indirect bool } }
	check(json.Unmarshal(out, &mod))
	for _, r := range mod.Require {
		if !r.Indirect {
			n++
		}
	}
	return n
}

func check(err error) {
	if err != nil {
		log.Fatalf("size: %v", err)
	}
}
