package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// overlay writes the locks with their mutants to dir, and returns the name of a list
// for the flag -overlay of the go command. It does not change the source of the module.
func (s *source) overlay(dir string) (list string, err error) {
	var overlay struct{ Replace map[string]string }
	overlay.Replace = map[string]string{}
	for name, f := range s.files {
		path := filepath.Join(dir, "source", filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return "", fmt.Errorf("write mutants: %w", err)
		}
		if err := os.WriteFile(path, []byte(f.String()), 0o644); err != nil {
			return "", fmt.Errorf("write mutants: %w", err)
		}
		overlay.Replace[filepath.Join(s.root, filepath.FromSlash(name))] = path
	}
	raw, err := json.Marshal(overlay)
	if err != nil {
		return "", fmt.Errorf("write mutants: %w", err)
	}
	list = filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, raw, 0o644); err != nil {
		return "", fmt.Errorf("write mutants: %w", err)
	}
	return list, nil
}

// build builds the program that plays the mutants of an overlay, in dir, and returns its
// path.
func (s *source) build(ctx context.Context, overlay, dir string) (exe string, err error) {
	exe = filepath.Join(dir, "player")
	if _, err := goCommand(ctx, s.tools(), "build", "-overlay", overlay, "-trimpath", "-buildvcs=false", "-o", exe, "./mutation/player"); err != nil {
		return "", fmt.Errorf("build mutants: %w", err)
	}
	return exe, nil
}

// buildTests builds the tests of the mutated packages, in dir. It leaves out a package
// without tests.
func (s *source) buildTests(ctx context.Context, overlay, dir string) ([]testProgram, error) {
	var all []testProgram
	for i, folder := range mutated {
		p := testProgram{exe: filepath.Join(dir, fmt.Sprintf("tests-%d", i)), dir: filepath.Join(s.root, filepath.FromSlash(folder))}
		if _, err := goCommand(ctx, s.tools(), "test", "-c", "-vet=off", "-overlay", overlay, "-trimpath", "-o", p.exe, module+"/"+folder); err != nil {
			return nil, fmt.Errorf("build tests: %w", err)
		}
		if _, err := os.Stat(p.exe); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		all = append(all, p)
	}
	return all, nil
}
