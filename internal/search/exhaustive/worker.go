package exhaustive

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/internal/play"
	"github.com/holdfast-go/holdfast/internal/search"
	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/holdfast-go/holdfast/internal/version"
	"github.com/holdfast-go/holdfast/reports/results"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// kind is the kind of the jobs: they have an [order] as Args, and give a [seen].
const kind = "exhaustive"

func init() {
	suite.RegisterKind(kind, func(j suite.Job, a suite.Answer, g suite.Guard) suite.Answer {
		l, err := locks.Find(j.Lock)
		if err != nil {
			a.Defect = err.Error()
			return a
		}
		return Answer(l, j, a, func(_ string, play func()) error { g(play); return nil })
	})
}

// Seed is that of every run.
const Seed = 1

// order lists the placements to play, one after the other.
type order struct {
	Base  string      `json:"base"`
	Build bool        `json:"build,omitempty"` // say what it takes to build upon it
	Wide  int         `json:"wide"`            // cells in a row; see [unit]
	Cells []cellOrder `json:"cells"`
}

type cellOrder struct {
	Name   string        `json:"name"`
	Faults []faults.Spec `json:"faults,omitempty"`
	Left   bool          `json:"left,omitempty"`  // a rule leaves it out
	Audit  bool          `json:"audit,omitempty"` // if it is left out, play it nevertheless
	// Instead is the placement to compare an audited one with: the rule that left it out
	// says that both show the same.
	Instead *Placement `json:"instead,omitempty"`
}

type seen struct {
	// Faulty and Inherent are the violations, worst property first.
	Faulty   []violation `json:"faulty,omitempty"`
	Inherent []violation `json:"inherent,omitempty"`
	Unknown  string      `json:"unknown,omitempty"`  // why a run without violation proves nothing
	Unplayed bool        `json:"unplayed,omitempty"` // see [ErrEnough]
	Missed   bool        `json:"missed,omitempty"`   // a fault found nothing to strike
	Source   string      `json:"source,omitempty"`   // the scenario of a violation
	Differs  string      `json:"differs,omitempty"`  // in what it shows other than the placement instead of it
	Same     bool        `json:"same,omitempty"`     // the run is that of a shorter fault; see [Outlasts]
	Audited  bool        `json:"audited,omitempty"`  // it was left out, and played nevertheless
	Outlasts []bool      `json:"outlasts,omitempty"` // by fault: it lasted for as long as the workload

	// To build upon the run:
	Moments []moment      `json:"moments,omitempty"` // from the last fault on
	Digest  string        `json:"digest,omitempty"`  // of all that was sent and recorded, the faults apart
	Struck  time.Duration `json:"struck,omitempty"`  // when the last fault did
	Ended   time.Duration `json:"ended,omitempty"`   // when the last fault had; never after the run
}

type violation struct {
	Property checker.Property `json:"property"`
	Class    string           `json:"class"`             // of the reason, without names and numbers
	Verdict  string           `json:"verdict,omitempty"` // the class of the verdict
	Reason   string           `json:"reason"`
	Faults   []string         `json:"faults"` // the kinds that had struck by then, sorted
}

// never is later than any run ends.
const never = time.Duration(1<<63 - 1)

// particulars matches the differences between two reasons of one class.
var particulars = regexp.MustCompile(`[0-9]+(\.[0-9]+)?(ns|µs|ms|s|m|h)?`)

func observe(s *scenarios.Scenario, h *history.History, verdicts map[checker.Property]checker.Verdict) seen {
	var out seen
	for _, c := range search.Of(s, h, verdicts) {
		v := verdicts[c.Property]
		one := violation{c.Property, v.Class, v.Class, v.Reason, c.Faults}
		if v.Faulty() {
			if one.Class == "" {
				one.Class = particulars.ReplaceAllString(v.Reason, "#")
			}
			out.Faulty = append(out.Faulty, one)
		} else {
			one.Class = particulars.ReplaceAllString(v.Inherent, "#")
			out.Inherent = append(out.Inherent, one)
		}
	}
	if len(out.Faulty)+len(out.Inherent) > 0 {
		return out
	}
	for _, p := range checker.Properties() {
		if v := verdicts[p.Name]; v.Outcome == checker.Unknown {
			out.Unknown = particulars.ReplaceAllString(v.Reason, "#")
			break
		}
	}
	return out
}

// ErrNoJudgement says that a run never ended, and that it is unknown whether the lock
// is to blame.
var ErrNoJudgement = errors.New("it is unknown whether the lock is to blame")

// ErrEnough says that a guard has not played a run, and plays no other one.
var ErrEnough = errors.New("nothing more is played")

// Guard calls play, which plays one scenario. The run is its name, with its faults in
// words. An error means that play never ended, by the lock's fault unless it is
// [ErrNoJudgement]. [ErrEnough] means that Guard did not call play.
type Guard func(run string, play func()) error

// Answer plays a job of [Options.Play] with a lock, in this process.
func Answer(l *locks.Lock, j suite.Job, a suite.Answer, guard Guard) suite.Answer {
	o, err := suite.DecodeAs[order](j.Args)
	if err == nil && o == nil {
		err = errors.New("there is no placement to play")
	}
	var b []Base
	if err == nil {
		b, err = find(l, o.Base)
	}
	if err != nil {
		a.Defect = err.Error()
		return a
	}
	stats := results.Stats{}
	all, err := o.play(func(c cellOrder, all []faults.Spec, build bool) (seen, error) {
		a.Run.Stats = results.Stats{}
		out, err := show(b[0].with(l, c.Name, all), l, &a.Run, build, guard)
		stats.Commands += a.Run.Stats.Commands
		stats.VirtualMS += a.Run.Stats.VirtualMS
		return out, err
	})
	if err != nil {
		a.Defect = err.Error()
		return a
	}
	a.Give(all)
	a.Run.Stats = stats
	a.Run.Verdicts, a.Run.Expected, a.Run.ExpectedClass, a.Run.Because = nil, nil, nil, nil // seen has it all
	return a
}

// play plays the cells that neither a rule nor a shorter fault decides. Of the others
// it plays those that the audit wants.
func (o order) play(show func(c cellOrder, all []faults.Spec, build bool) (seen, error)) ([]seen, error) {
	all := make([]seen, len(o.Cells))
	for i, c := range o.Cells {
		from := o.shorter(all, i)
		if !c.Left && from < 0 {
			out, err := show(c, c.Faults, o.Build)
			if err != nil {
				return nil, err
			}
			all[i] = out
			continue
		}
		var out, other seen
		if !c.Left {
			other = all[from]
			out = seen{Same: true, Outlasts: other.Outlasts, Faulty: other.Faulty, Inherent: other.Inherent, Unknown: other.Unknown}
		}
		if c.Audit {
			audit, err := show(c, c.Faults, false)
			if err == nil && c.Left && c.Instead != nil {
				other, err = show(c, c.Instead.Faults, false)
			}
			if err != nil {
				return nil, err
			}
			if out.Audited = true; audit.Unplayed || other.Unplayed {
				all[i] = seen{Unplayed: true}
				continue
			}
			if !c.Left || c.Instead != nil {
				out.Differs = differs(audit, other)
			}
		}
		all[i] = out
	}
	return all, nil
}

// show plays a scenario and judges it, and records it in r. With build it adds what
// it takes to build upon the run.
func show(s *scenarios.Scenario, l *locks.Lock, r *results.Run, build bool, guard Guard) (out seen, err error) {
	type ended struct { // a run that is left behind may end later
		played *play.Played
		look   *play.Seen
		err    error
	}
	ends := make(chan ended, 1)
	hung := guard(inWords(s), func() {
		played, look, err := play.SimulateWatched(s, l, Seed, version.Holdfast, play.Watch{Moments: build, Messages: build})
		ends <- ended{played, look, err}
	})
	switch {
	case errors.Is(hung, ErrEnough):
		return seen{Unplayed: true}, nil
	case errors.Is(hung, ErrNoJudgement):
		return seen{Unknown: hung.Error()}, nil
	case hung != nil:
		return hangs(s, hung), nil
	}
	end := <-ends
	played, look := end.played, end.look
	if end.err != nil {
		return out, end.err
	}
	suite.Record(r, played)
	if err := suite.Judge(r, s, l, played.Judged()); err != nil {
		return out, fmt.Errorf("%s: %w", s.Name, err)
	}
	out = observe(s, played.Judged(), r.Verdicts)
	out.Missed = len(played.Missed()) > 0
	out.Outlasts = outlasts(s.Faults, played)
	if len(out.Faulty)+len(out.Inherent) > 0 {
		source, err := s.YAML()
		if err != nil {
			return out, err
		}
		out.Source = string(source)
	}
	if build {
		return out, out.describe(s.Faults, look, played.History)
	}
	return out, nil
}

// inWords names a scenario and tells its faults.
func inWords(s *scenarios.Scenario) string {
	if len(s.Faults) == 0 {
		return s.Name + ", without any fault"
	}
	return s.Name + ": " + Placement{Faults: s.Faults}.When()
}

// describe adds what it takes to build upon a run.
func (out *seen) describe(all []faults.Spec, look *play.Seen, h *history.History) error {
	out.Moments = momentsOf(look.Moments)
	if n := len(all); n > 0 {
		out.Moments = from(out.Moments, all[n-1].On)
		out.Ended = never
		for _, e := range h.Events {
			if e.Fault == nil || e.Fault.ID != n {
				continue
			}
			switch at := time.Duration(e.Time); {
			case e.Fault.Phase == history.PhaseEnd:
				out.Ended = at
			case e.Fault.Phase == history.PhaseStart:
				out.Struck = at
				if all[n-1].Traits().Instant {
					out.Ended = at
				}
			}
		}
	}
	events := slices.DeleteFunc(slices.Clone(h.Events), func(e history.Event) bool { return e.Kind == history.Fault })
	raw, err := json.Marshal([]any{events, look.Messages, look.Moments})
	if err != nil {
		return fmt.Errorf("compare runs: %w", err)
	}
	sum := sha256.Sum256(raw)
	out.Digest = hex.EncodeToString(sum[:16])
	return nil
}

// differs says what two runs show that are to show the same; "" when they do.
func differs(a, b seen) string {
	words := func(s seen) string {
		text := "unknown: " + s.Unknown
		for _, v := range slices.Concat(s.Faulty, s.Inherent) {
			text = fmt.Sprintf("%s violated: %s", v.Property, v.Class)
			break
		}
		if len(s.Faulty)+len(s.Inherent) == 0 && s.Unknown == "" {
			return "ok"
		}
		return text
	}
	same := func(x, y []violation) bool {
		return slices.EqualFunc(x, y, func(a, b violation) bool { return a.Property == b.Property && a.Class == b.Class })
	}
	if same(a.Faulty, b.Faulty) && same(a.Inherent, b.Inherent) && a.Unknown == b.Unknown {
		return ""
	}
	return fmt.Sprintf("%s, and not %s", words(a), words(b))
}

// hangs is the result of a run that never ended.
func hangs(s *scenarios.Scenario, why error) seen {
	out := seen{Faulty: []violation{{Property: checker.Progress, Class: search.NeverEnded, Reason: why.Error(), Faults: search.Hazards(s.Faults)}}}
	if source, err := s.YAML(); err == nil {
		out.Source = string(source)
	}
	return out
}
