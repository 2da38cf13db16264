// Package playground plays one scenario with one lock for somebody who turns its
// parameters, in virtual time. A request is a JSON document, and so is the answer. It has
// the verdicts, the picture and the story as HTML, the hash of the history, and the
// command for a terminal. The same code runs behind HTTP and, as WebAssembly, in a
// browser.
package playground

import (
	"errors"
	"slices"

	"github.com/holdfast-go/holdfast/internal/input"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

type Request struct {
	Scenario string `json:"scenario"` // a built-in one
	Lock     string `json:"lock"`     // a built-in one
	Seed     uint64 `json:"seed"`
	// Set changes parameters, by [Param.Path]; the values are texts such as "1.5s".
	Set map[string]string `json:"set,omitempty"`
}

// decode reads a request. The error is a [*RefusedError].
func decode(body []byte) (Request, error) {
	var r Request
	if len(body) > maxRequest {
		return r, refuse("the request has more than %d bytes", maxRequest)
	}
	if err := (input.JSON{}).Unmarshal(body, &r); err != nil {
		return r, refuse("the request cannot be read: %s", err)
	}
	switch {
	case len(r.Set) > maxSet:
		return r, refuse("the request sets more than %d parameters", maxSet)
	case r.Seed > maxSeed:
		return r, refuse("the seed must be at most %d", uint64(maxSeed))
	}
	return r, nil
}

// plan is a request that can be played.
type plan struct {
	Request
	asItIs   *scenarios.Scenario
	scenario *scenarios.Scenario
	source   string // of scenario
	changed  bool   // it is not the built-in one
}

// plan checks a request against the catalogue and the limits. The error is a
// [*RefusedError], or a defect of holdfast.
func (r Request) plan() (*plan, error) {
	src, err := scenarios.Source(r.Scenario)
	if err != nil {
		return nil, refuse("there is no scenario %q", r.Scenario)
	}
	if !slices.Contains(locks.Names(), r.Lock) {
		return nil, refuse("there is no lock %q", r.Lock)
	}
	p := &plan{Request: r, source: string(src)}
	if p.asItIs, err = scenarios.Parse(r.Scenario+".yaml", src); err != nil {
		return nil, err
	}
	p.scenario = p.asItIs
	if err := p.change(src); err != nil {
		return nil, err
	}
	if err := bounded(p.scenario); err != nil {
		return nil, err
	}
	if ok, why := p.scenario.Applies(locks.MustFind(r.Lock)); !ok {
		return nil, refuse("%s is not played with %s: %s", r.Scenario, r.Lock, why)
	}
	return p, nil
}

// change makes the scenario that the visitor has chosen, by way of its YAML, so
// that a terminal plays nothing else.
func (p *plan) change(src []byte) error {
	if len(p.Set) == 0 {
		return nil
	}
	s, err := scenarios.Parse(p.Scenario+".yaml", src)
	if err != nil {
		return err
	}
	all := numbers(s)
	for path := range p.Set {
		if !slices.ContainsFunc(all, func(f field) bool { return f.path == path }) {
			return refuse("%s has no parameter %q", p.Scenario, path)
		}
	}
	for _, f := range all { // in an order, for the first error
		was := f.text()
		text, ok := p.Set[f.path]
		if !ok {
			continue
		}
		if err := f.set(text); err != nil {
			return err
		}
		p.changed = p.changed || f.text() != was
	}
	if !p.changed {
		return nil
	}
	s.Workload.MinGrants = 0 // says what the scenario as it is must show
	changed, err := s.YAML()
	if err != nil {
		return err
	}
	p.source = string(changed)
	p.scenario, err = scenarios.Parse(p.file(), changed)
	if wrong, ok := errors.AsType[*scenarios.SourceError](err); ok {
		return &refusedError{input.Plain(wrong.Message), wrong.Hint}
	}
	return err
}

// file is the name of the scenario in the command for the terminal.
func (p *plan) file() string { return "./" + p.Scenario + ".yaml" }
