package reports

import (
	"cmp"
	"encoding/json"
	"io"
	"maps"
	"path"
	"slices"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/internal/english"
)

// These are the parts of SARIF 2.1.0 that code scanning reads.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool struct {
			Driver sarifDriver `json:"driver"`
		} `json:"tool"`
		Results []sarifResult `json:"results"`
	}
	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID   string    `json:"id"`
		Text sarifText `json:"shortDescription"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		Rule         string            `json:"ruleId"`
		Level        string            `json:"level"`
		Message      sarifText         `json:"message"`
		Locations    []sarifLocation   `json:"locations"`
		Fingerprints map[string]string `json:"partialFingerprints,omitempty"`
		State        string            `json:"baselineState,omitempty"` // against an earlier run
	}
	sarifLocation struct {
		Physical struct {
			Artifact struct {
				URI string `json:"uri"`
			} `json:"artifactLocation"`
		} `json:"physicalLocation"`
	}
)

// fingerprint names the kind of identity, for tools that compare findings.
const fingerprint = "holdfast/v1"

// state says in the words of SARIF whether an earlier run has a finding.
func (d Document) state(lock, id string) string {
	if d.Earlier == nil {
		return ""
	}
	if _, known := d.Earlier[[2]string{lock, id}]; known {
		return "unchanged"
	}
	return "new"
}

// SARIF writes the verdicts that fail a build as SARIF, for code scanning. The identity
// of a violation is its fingerprint, so that it stays one finding from night to night.
func (d Document) SARIF(w io.Writer) error {
	run := sarifRun{Results: []sarifResult{}}
	run.Tool.Driver = sarifDriver{Name: "holdfast", Version: english.Clean(d.Results.Version)}
	for _, p := range checker.Properties() {
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{string(p.Name), sarifText{p.Promise}})
	}
	gone := maps.Clone(d.Earlier)
	for _, f := range newMatrix(d).findings() {
		if f.expected {
			continue
		}
		r := sarifResult{
			Rule: f.property, Level: "error",
			Message: sarifText{english.Name(f.run.Column()) + ": " + f.property + " " + f.got + ": " + f.reason + "\n" + Replay(f.run)},
		}
		if !f.violated {
			r.Level = "warning"
		}
		if d.Identity != nil {
			if id := d.Identity(*f.run, checker.Property(f.property)); id != "" {
				r.Fingerprints = map[string]string{fingerprint: id}
				r.State = d.state(f.run.Column(), id)
				delete(gone, [2]string{f.run.Column(), id})
			}
		}
		var at sarifLocation
		at.Physical.Artifact.URI = english.Clean(path.Clean(cmp.Or(f.run.File, "scenarios/"+f.run.Scenario+".yaml")))
		r.Locations = []sarifLocation{at}
		run.Results = append(run.Results, r)
	}
	for _, id := range slices.SortedFunc(maps.Keys(gone), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }) {
		run.Results = append(run.Results, sarifResult{
			Rule: string(gone[id]), Level: "none", Message: sarifText{english.Name(id[0]) + ": " + string(gone[id]) + " is not violated any more in this way"},
			Locations: []sarifLocation{}, Fingerprints: map[string]string{fingerprint: id[1]}, State: "absent",
		})
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(sarifLog{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []sarifRun{run}})
}
