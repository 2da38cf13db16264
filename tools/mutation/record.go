package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/holdfast-go/holdfast/internal/suite"
)

// record keeps results in a directory. So an interrupted hunt continues where it
// ended, and the shards of a hunt can share the directory. Each shard writes its
// own file.
type record struct {
	file *os.File
	done map[string]*result // by the id of the mutant
}

// recordHead is the first line of a file. A record ignores the results of another
// hunt.
type recordHead struct {
	Hunt string `json:"hunt"`
}

// identity identifies a hunt: the program with the mutants, and all runs.
func (h hunt) identity() (string, error) {
	return fingerprint([]string{h.exe}, h.catalogue, h.drawn, h.placed)
}

// identity identifies the tests: their programs.
func (t *ownTests) identity() (string, error) {
	var programs []string
	for _, p := range t.programs {
		programs = append(programs, p.exe)
	}
	return fingerprint(programs)
}

// fingerprint hashes programs, and whatever else decides about results.
func fingerprint(programs []string, more ...any) (string, error) {
	sum := sha256.New()
	for _, name := range programs {
		if err := hashFile(sum, name); err != nil {
			return "", fmt.Errorf("identify hunt: %w", err)
		}
	}
	if err := json.NewEncoder(sum).Encode(more); err != nil {
		return "", fmt.Errorf("identify hunt: %w", err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func hashFile(sum io.Writer, name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(sum, f)
	return err
}

// openRecord opens the record of a hunt in dir, and creates dir if necessary. Its files
// begin with the name.
func openRecord(dir, name, id string, shard suite.Shard) (*record, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("open record: %w", err)
	}
	r := &record{done: map[string]*result{}}
	files, err := filepath.Glob(filepath.Join(dir, name+"-*.jsonl"))
	if err != nil {
		return nil, fmt.Errorf("open record: %w", err)
	}
	mine := filepath.Join(dir, fmt.Sprintf("%s-%d-of-%d.jsonl", name, shard.Index, shard.Of))
	whole := int64(0) // valid bytes of this shard's file
	for _, path := range files {
		n, err := r.read(path, id)
		if err != nil {
			return nil, err
		}
		if path == mine {
			whole = n
		}
	}
	if r.file, err = os.OpenFile(mine, os.O_RDWR|os.O_CREATE, 0o644); err != nil {
		return nil, fmt.Errorf("open record: %w", err)
	}
	if err := r.file.Truncate(whole); err != nil {
		return nil, fmt.Errorf("open record: %w", err)
	}
	if _, err := r.file.Seek(whole, io.SeekStart); err != nil {
		return nil, fmt.Errorf("open record: %w", err)
	}
	if whole == 0 {
		return r, r.write(recordHead{id})
	}
	return r, nil
}

// read reads the results of a file, and returns how many bytes of it are whole
// lines. It returns 0 for a file of another hunt.
func (r *record) read(path, id string) (int64, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read record: %w", err)
	}
	in := bufio.NewReader(bytes.NewReader(text))
	whole := int64(0)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return whole, nil // the last line may be incomplete
		}
		if whole == 0 {
			var head recordHead
			if json.Unmarshal(line, &head) != nil || head.Hunt != id {
				return 0, nil
			}
		} else {
			var one result
			if err := json.Unmarshal(line, &one); err != nil || one.Mutant == nil {
				return whole, nil
			}
			r.done[one.ID] = &one
		}
		whole += int64(len(line))
	}
}

func (r *record) write(v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("write record: %w", err)
	}
	if _, err := r.file.Write(append(raw, '\n')); err != nil {
		return fmt.Errorf("write record: %w", err)
	}
	return nil
}

// keep adds a result.
func (r *record) keep(one *result) error {
	r.done[one.ID] = one
	return r.write(one)
}

// missing are the mutants without a result.
func (r *record) missing(all []*Mutant) []*Mutant {
	var some []*Mutant
	for _, m := range all {
		if r.done[m.ID] == nil {
			some = append(some, m)
		}
	}
	return some
}

// results returns the results of mutants, in the order of the mutants.
func (r *record) results(all []*Mutant) []*result {
	var some []*result
	for _, m := range all {
		if one := r.done[m.ID]; one != nil {
			one.Mutant = m // a record has no places
			some = append(some, one)
		}
	}
	return some
}

// close closes the file of the record.
func (r *record) close() error { return r.file.Close() }
