package sweep

import (
	"errors"
	"fmt"

	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/scenarios"
)

const maxPoints = 2500

// Plan is a scenario to sweep over one parameter or two.
type Plan struct {
	Scenario *scenarios.Scenario
	Axes     []axis
}

// Point is a value for each axis.
type Point []Value

// NewPlan makes a plan, and checks that the scenario can be had at every point.
func NewPlan(s *scenarios.Scenario, over []string) (*Plan, error) {
	p := &Plan{Scenario: s}
	for _, o := range over {
		a, err := parseAxis(o)
		if err != nil {
			return nil, err
		}
		p.Axes = append(p.Axes, a)
	}
	switch {
	case len(p.Axes) == 0:
		return nil, errors.New("nothing is swept\nhint: such as --over lag=1ms..500ms:10")
	case len(p.Axes) > 2:
		return nil, fmt.Errorf("%d parameters: at most two can be swept at once", len(p.Axes))
	case len(p.Axes) == 2 && p.Axes[0].Param.Name == p.Axes[1].Param.Name:
		return nil, fmt.Errorf("%s is swept twice", p.Axes[0].Param.Name)
	}
	points := p.Points()
	if len(points) > maxPoints {
		return nil, fmt.Errorf("%d points: at most %d", len(points), maxPoints)
	}
	for _, at := range points {
		if _, err := p.At(at); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// Points lists the points, those with the same value of the second axis next
// to one another.
func (p *Plan) Points() []Point {
	var all []Point
	if len(p.Axes) == 1 {
		for _, v := range p.Axes[0].Values {
			all = append(all, Point{v})
		}
		return all
	}
	for _, second := range p.Axes[1].Values {
		for _, first := range p.Axes[0].Values {
			all = append(all, Point{first, second})
		}
	}
	return all
}

// At is the scenario at a point. It expects nothing: what its file argues for
// holds at the numbers of the file.
func (p *Plan) At(at Point) (*scenarios.Scenario, error) {
	s, err := clone(p.Scenario)
	if err != nil {
		return nil, err
	}
	s.Expect = nil
	for i, a := range p.Axes {
		if err := a.Param.set(s, at[i]); err != nil {
			return nil, fmt.Errorf("scenario %s cannot be swept over %s: %w\nhint: holdfast show prints a built-in scenario, to change a copy of it",
				s.Name, a.Param.Name, err)
		}
	}
	if s, err = clone(s); err != nil {
		return nil, fmt.Errorf("with %s: %w", p.words(at), err)
	}
	return s, nil
}

// clone is a deep copy. It fails for an invalid scenario.
func clone(s *scenarios.Scenario) (*scenarios.Scenario, error) {
	src, err := s.YAML()
	if err != nil {
		return nil, err
	}
	return scenarios.Parse(s.Name+".yaml", src)
}

// events names the event that happens once in a run, in the plural: the fault of
// the scenario, or the run itself.
func (p *Plan) events() string {
	var words []string
	targets := 0
	for _, f := range p.Scenario.Faults {
		if k, _ := faults.Lookup(f.Fault); k.Plural != "" {
			words = append(words, k.Plural)
			targets += len(f.Target)
		}
	}
	if len(words) != 1 || targets != 1 {
		return "runs"
	}
	return words[0]
}
