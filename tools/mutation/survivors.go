package main

import (
	"bufio"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// survivorsFile has the counts of the last full measurement, and every mutant in it that
// no run killed. docs/mutation.md sums it up.
//
//go:embed survivors.jsonl
var survivorsFile string

// json writes the counts in one line, and each mutant that no run killed in one more.
func (r *report) json(w io.Writer) error {
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	if err := out.Encode(r); err != nil {
		return err
	}
	for _, one := range r.mutants {
		if one.Status == killed {
			continue
		}
		if err := out.Encode(one); err != nil {
			return err
		}
	}
	return nil
}

// readReport reads what [report.json] writes. The result lacks the killed mutants, and
// the diffs of the others.
func readReport(in io.Reader) (*report, error) {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20) // the first line has all counts
	r := &report{}
	for n := 1; lines.Scan(); n++ {
		if n == 1 {
			if err := json.Unmarshal(lines.Bytes(), r); err != nil {
				return nil, fmt.Errorf("read survivors: line 1: %w", err)
			}
			continue
		}
		one := &result{}
		err := json.Unmarshal(lines.Bytes(), one)
		if err == nil {
			err = one.setPlace()
		}
		if err != nil {
			return nil, fmt.Errorf("read survivors: line %d: %w", n, err)
		}
		r.mutants = append(r.mutants, one)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read survivors: %w", err)
	}
	var err error
	r.notes, err = readNotes(notesFile)
	return r, err
}

// setPlace sets what the id says of a mutant that was read from a file.
func (r *result) setPlace() error {
	if r.Mutant == nil {
		return fmt.Errorf("a mutant without an id")
	}
	parts := strings.Split(r.ID, ":")
	if len(parts) != 3 {
		return fmt.Errorf("id %q: must be FILE:LINE:OPERATOR", r.ID)
	}
	line, err := strconv.Atoi(parts[1])
	if err != nil {
		return fmt.Errorf("id %q: %w", r.ID, err)
	}
	r.File, r.Line = parts[0], line
	r.Operator, _, _ = strings.Cut(parts[2], "#")
	return nil
}
