package exhaustive

import (
	"errors"
	"fmt"
	"regexp"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/internal/version"
	"github.com/holdfast-go/holdfast/play"
	"github.com/holdfast-go/holdfast/play/simplay"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/subject"
	"github.com/holdfast-go/holdfast/suite"
)

// Kinds of job: a base has its name as Args and gives its moments; a placed run
// has its [Placement] as Args and gives a [seen].
const (
	baseKind   = "exhaustive-base"
	placedKind = "exhaustive-placed"
)

func init() {
	suite.RegisterKind(baseKind, playBase)
	suite.RegisterKind(placedKind, playPlaced)
}

// seed is that of every run.
const seed = 1

// seen is what a run has shown.
type seen struct {
	Moments []faults.Moment `json:"moments,omitempty"` // of a base
	// Faulty and Inherent are the violations, worst property first.
	Faulty   []violation `json:"faulty,omitempty"`
	Inherent []violation `json:"inherent,omitempty"`
	Unknown  string      `json:"unknown,omitempty"` // why a run without violation proves nothing
	Missed   bool        `json:"missed,omitempty"`  // the fault found nothing to strike
	Source   string      `json:"source,omitempty"`  // the scenario of a violation
}

// violation is a violated property.
type violation struct {
	Property checker.Property `json:"property"`
	Class    string           `json:"class"` // of the reason
	Reason   string           `json:"reason"`
}

// particulars are what differs between two reasons of one class.
var particulars = regexp.MustCompile(`[0-9]+(\.[0-9]+)?(ns|µs|ms|s|m|h)?`)

// observe says what the verdicts on a run mean.
func observe(verdicts map[checker.Property]checker.Verdict) seen {
	var out seen
	for _, p := range checker.Properties() {
		v := verdicts[p.Name]
		switch v.Outcome {
		case checker.Violated:
			one := violation{p.Name, v.Class, v.Reason}
			if one.Class == "" {
				one.Class = particulars.ReplaceAllString(v.Reason, "#")
			}
			if v.Faulty() {
				out.Faulty = append(out.Faulty, one)
			} else {
				one.Class = particulars.ReplaceAllString(v.Inherent, "#")
				out.Inherent = append(out.Inherent, one)
			}
		case checker.Unknown:
			if out.Unknown == "" {
				out.Unknown = particulars.ReplaceAllString(v.Reason, "#")
			}
		}
	}
	if len(out.Faulty)+len(out.Inherent) > 0 {
		out.Unknown = ""
	}
	return out
}

// playBase plays a base, and says which moments it has.
func playBase(j suite.Job, a suite.Answer, g suite.Guard) suite.Answer {
	l, b, err := baseFor(j.Lock, j.Scenario)
	if err == nil {
		s := b.scenario(l)
		var p *play.Played
		var look *simplay.Seen
		g(func() { p, look, err = simplay.PlayWatched(s, l, seed, version.Holdfast, simplay.Watch{Moments: true}) })
		if err == nil {
			err = give(&a, s, l, p, look.Moments)
		}
	}
	if err != nil {
		a.Defect = err.Error()
	}
	return a
}

// playPlaced plays a base with one fault.
func playPlaced(j suite.Job, a suite.Answer, g suite.Guard) suite.Answer {
	p, err := suite.DecodeAs[Placement](j.Args)
	if err == nil && p == nil {
		err = errors.New("a placed run needs a placement")
	}
	if err == nil {
		var l *subject.Subject
		var b Base
		if l, b, err = baseFor(j.Lock, p.Base); err == nil {
			s := b.with(l, j.Scenario, p.Fault)
			var played *play.Played
			g(func() { played, err = simplay.Play(s, l, seed, version.Holdfast) })
			if err == nil {
				err = give(&a, s, l, played, nil)
			}
		}
	}
	if err != nil {
		a.Defect = err.Error()
	}
	return a
}

// give judges a run, and puts what it has shown into the answer.
func give(a *suite.Answer, s *scenarios.Scenario, l *subject.Subject, p *play.Played, moments []faults.Moment) error {
	suite.Record(&a.Run, p)
	if err := suite.Judge(&a.Run, s, l, p.Judged()); err != nil {
		return fmt.Errorf("%s: %w", s.Name, err)
	}
	out := observe(a.Run.Verdicts)
	out.Moments, out.Missed = moments, len(p.Missed()) > 0
	if len(out.Faulty)+len(out.Inherent) > 0 {
		source, err := s.YAML()
		if err != nil {
			return err
		}
		out.Source = string(source)
	}
	a.Give(out)
	a.Run.Verdicts, a.Run.Expected, a.Run.ExpectedClass, a.Run.Because = nil, nil, nil, nil // seen has it all
	return nil
}

// baseFor finds a lock and a base of it.
func baseFor(lock, base string) (*subject.Subject, Base, error) {
	l, err := subject.FindSubject(lock)
	if err != nil {
		return nil, Base{}, err
	}
	b, known := find(base)
	if !known {
		return nil, Base{}, fmt.Errorf("unknown base %q", base)
	}
	return l, b, nil
}
