package main

import (
	_ "embed"
	"fmt"
	"regexp"

	"github.com/goccy/go-yaml"
)

//go:embed table.yaml
var tableFile []byte

// table has the words with one meaning.
var table = readTable(tableFile)

// entry is a word of the table in CONTRIBUTING.md.
type entry struct {
	Word    string `yaml:"word"`
	Means   string `yaml:"means"`
	Instead string `yaml:"instead"` // the words for anything else
	// Wrong matches a wrong use in a sentence; empty where no pattern is sharp enough.
	Wrong string   `yaml:"wrong"`
	In    []string `yaml:"in"`  // files and folders in which it is wrong; empty for all
	But   []string `yaml:"but"` // files and folders in which it is right

	pattern *regexp.Regexp
}

// readTable reads the table, which is a part of this program.
func readTable(text []byte) []entry {
	var all []entry
	if err := yaml.UnmarshalWithOptions(text, &all, yaml.Strict()); err != nil {
		panic(fmt.Sprintf("read table of words: %v", err))
	}
	for i, e := range all {
		if e.Wrong != "" {
			all[i].pattern = regexp.MustCompile(e.Wrong)
		}
	}
	return all
}

// wrong reports whether a sentence of a file uses the word for something else.
func (e entry) wrong(file, sentence string) bool {
	return e.pattern != nil && (len(e.In) == 0 || within(file, e.In)) && !within(file, e.But) && e.pattern.MatchString(sentence)
}

// markdownTable is the table as CONTRIBUTING.md has it.
func markdownTable() string {
	text := "| word | means | for anything else |\n|---|---|---|\n"
	for _, e := range table {
		text += fmt.Sprintf("| %s | %s | %s |\n", e.Word, e.Means, e.Instead)
	}
	return text
}
