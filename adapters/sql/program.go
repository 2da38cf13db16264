package main

import (
	"context"
	"database/sql"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/holdfast-go/holdfast/internal/live/processes"
)

// tool runs a program that comes with a server until it has done its work.
func tool(ctx context.Context, cmd *exec.Cmd) error {
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := processes.Spawn(cmd); err != nil {
		return fmt.Errorf("start %s: %w", filepath.Base(cmd.Path), err)
	}
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })
	defer stop()
	if err := cmd.Wait(); err != nil {
		first, _, _ := strings.Cut(strings.TrimSpace(said.String()), "\n\n") // advice follows
		return fmt.Errorf("%s: %w: %s", filepath.Base(cmd.Path), err, first)
	}
	return nil
}

// texts reads the first column of a query.
func texts(ctx context.Context, db *sql.DB, query string, args ...any) ([]string, error) {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []string
	for rows.Next() {
		var one string
		if err := rows.Scan(&one); err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, rows.Err()
}

// firstOf finds the first of some programs that is there, on the PATH or where
// Debian puts it.
func firstOf(name string, places ...string) string {
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	for _, place := range places {
		found, _ := filepath.Glob(filepath.Join(place, name))
		if len(found) > 0 {
			return found[len(found)-1]
		}
	}
	return ""
}

// versionOf is the output of a program with --version, from its first digit on.
func versionOf(path string) string {
	out, err := exec.Command(path, "--version").Output()
	if path == "" || err != nil {
		return ""
	}
	for _, word := range strings.Fields(string(out)) {
		if word[0] >= '1' && word[0] <= '9' {
			return word
		}
	}
	return ""
}
