// Command words checks the rules for prose in CONTRIBUTING.md that a program can check.
// It reads the pages, comments, help texts and errors of a repository. make lint runs it.
//
// Usage: words [DIRECTORY], by default the parent of the current one.
package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	root := ".."
	if len(os.Args) > 1 {
		root = os.Args[1]
	}
	found, err := check(root)
	for _, f := range found {
		fmt.Println(f)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "words:", err)
		os.Exit(2)
	}
	if len(found) > 0 {
		os.Exit(1)
	}
}

// check returns the faults of a repository, each with its file and line.
func check(root string) ([]string, error) {
	var found []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		if d.IsDir() {
			if name != "." && (strings.HasPrefix(d.Name(), ".") || slices.Contains([]string{"testdata", "node_modules"}, d.Name())) {
				return fs.SkipDir
			}
			return nil
		}
		if !isPage(name) && !isSource(name) {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		texts := markdown(string(text))
		if isSource(name) {
			if texts, err = source(path, text); err != nil {
				return err
			}
		}
		for _, t := range texts {
			for _, f := range findings(name, t.words) {
				found = append(found, fmt.Sprintf("%s:%d: %s", name, t.line, f))
			}
		}
		return nil
	})
	return found, err
}

// within reports whether a file lies in one of the folders.
func within(name string, folders []string) bool {
	return slices.ContainsFunc(folders, func(f string) bool { return strings.HasPrefix(name, f) })
}

func isPage(name string) bool {
	return strings.HasSuffix(name, ".md") && (strings.HasPrefix(name, "docs/") || name == "README.md" || name == "ARCHITECTURE.md" || name == "CONTRIBUTING.md")
}

func isSource(name string) bool {
	return strings.HasSuffix(name, ".go")
}
