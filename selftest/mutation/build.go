package mutation

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// build builds the program that plays the mutants, in dir, and returns its path.
// It does not change the source of the module.
func (s *source) build(ctx context.Context, dir string) (exe string, err error) {
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
	list := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, raw, 0o644); err != nil {
		return "", fmt.Errorf("write mutants: %w", err)
	}
	exe = filepath.Join(dir, "player")
	if _, err := goCommand(ctx, s.root, "build", "-overlay", list, "-trimpath", "-buildvcs=false", "-o", exe, "./selftest/mutation/player"); err != nil {
		return "", fmt.Errorf("build mutants: %w", err)
	}
	return exe, nil
}
