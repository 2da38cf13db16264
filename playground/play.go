package playground

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/history"
	"github.com/holdfast-go/holdfast/internal/version"
	"github.com/holdfast-go/holdfast/play"
	"github.com/holdfast-go/holdfast/play/simplay"
	"github.com/holdfast-go/holdfast/reports"
	"github.com/holdfast-go/holdfast/results"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/subject"
	"github.com/holdfast-go/holdfast/suite"
)

// Response is what a visitor gets. HTML is a part of a page; every text in it is
// escaped. All others are plain texts.
type Response struct {
	Scenario string                               `json:"scenario"`
	Title    string                               `json:"title"`
	Story    string                               `json:"story"`
	Lock     string                               `json:"lock"`
	Seed     uint64                               `json:"seed"`
	Changed  bool                                 `json:"changed"` // it is not the built-in scenario
	Params   []Param                              `json:"params"`
	Verdicts map[checker.Property]checker.Verdict `json:"verdicts"`
	HTML     string                               `json:"html"`             // the picture, the story, the verdicts and what proves them
	Beside   string                               `json:"beside,omitempty"` // the lock that survives, which HTML shows beside a violation
	Hash     string                               `json:"history_sha256"`   // as results.json has it
	Command  string                               `json:"command"`          // gives the same history in a terminal
	File     string                               `json:"file"`             // the name under which that command looks for the scenario
	YAML     string                               `json:"yaml"`             // the scenario
}

// Refusal is what a visitor gets in the place of a [Response].
type Refusal struct {
	Error string `json:"error"`
	Hint  string `json:"hint,omitempty"`
}

// kind plays a [Request], and gives a [Response].
const kind = "playground"

func init() { suite.RegisterKind(kind, playKind) }

// Answer plays the request in body on r, and returns the JSON of a [Response], or
// of a [Refusal] and an error. The error is a [*RefusedError] where the request is
// at fault, that of ctx where it has ended, or a defect of holdfast.
func Answer(ctx context.Context, r suite.Runner, body []byte) ([]byte, error) {
	out, err := answer(ctx, r, body)
	var refused *RefusedError
	switch {
	case errors.As(err, &refused):
		out, _ = json.Marshal(Refusal{refused.Reason, refused.Hint}) // two texts
	case err != nil:
		out, _ = json.Marshal(Refusal{Error: "a defect of holdfast itself: " + reports.Clean(err.Error()), Hint: "please report it, with the request and the version"})
	}
	return out, err
}

func answer(ctx context.Context, r suite.Runner, body []byte) ([]byte, error) {
	request, err := decode(body)
	if err != nil {
		return nil, err
	}
	p, err := request.plan()
	if err != nil {
		return nil, err
	}
	out, err := p.answer(ctx, r, order{Request: request})
	if err != nil {
		return nil, err
	}
	var alone struct {
		Verdicts map[checker.Property]checker.Verdict
	}
	if err := json.Unmarshal(out, &alone); err != nil {
		return nil, fmt.Errorf("decode answer: %w", err)
	}
	if !violated(alone.Verdicts) {
		return out, nil
	}
	// A survivor that takes too long must not cost the visitor this answer.
	if both, err := p.answer(ctx, r, order{request, p.survivors()}); err == nil {
		return both, nil
	}
	return out, nil
}

// answer plays an order in one job, which may take [RunTime].
func (p *plan) answer(ctx context.Context, r suite.Runner, o order) ([]byte, error) {
	args, err := json.Marshal(o)
	if err != nil {
		return nil, fmt.Errorf("encode request: %w", err)
	}
	job := suite.Job{Scenario: p.Scenario, File: p.file(), Source: p.source, Lock: p.Lock, Seed: p.Seed, Judge: true, Kind: kind, Args: args}
	answers, err := suite.Round(ctx, r, []suite.Job{job})
	if err != nil {
		return nil, err
	}
	switch a := answers[0]; {
	case a.Defect != "":
		return nil, errors.New(a.Defect)
	case a.Run.Failure != "" && len(a.Out) == 0:
		first, _, _ := strings.Cut(a.Run.Failure, "\n")
		return nil, &RefusedError{"the run did not end: " + reports.Clean(first), fmt.Sprintf("a run may take %v of processor time here; holdfast run waits for longer", RunTime)}
	default:
		return a.Out, nil
	}
}

// playKind plays and judges a run, and draws it.
func playKind(j suite.Job, a suite.Answer, g suite.Guard) suite.Answer {
	o, err := suite.DecodeAs[order](j.Args)
	if err != nil {
		a.Defect = err.Error()
		return a
	}
	p, err := o.plan()
	if err != nil {
		a.Defect = err.Error()
		return a
	}
	player := func(s *scenarios.Scenario, l *subject.Subject) (*play.Played, error) {
		return simplay.Play(s, l, j.Seed, version.Holdfast)
	}
	_, played := a.Play(j, g, player)
	if played == nil || a.Defect != "" {
		return a
	}
	all := []drawn{{a.Run, played.History}}
	for _, lock := range o.Beside {
		other, b := j, suite.Answer{Run: results.Run{Scenario: j.Scenario, Lock: lock, World: "sim", Seed: j.Seed, File: j.ReadFrom()}}
		other.Lock = lock
		if _, played := b.Play(other, g, player); played != nil && survives(b.Run) {
			all = append(all, drawn{b.Run, played.History})
			break
		}
	}
	response, err := p.respond(all)
	if err != nil {
		a.Defect = err.Error()
		return a
	}
	a.Give(response)
	return a
}

// respond draws the run of the chosen lock, and beside it one that survives.
func (p *plan) respond(all []drawn) (*Response, error) {
	d := reports.Document{Results: results.Results{Version: version.Holdfast}}
	histories := map[string]*history.History{} // by lock
	for _, one := range all {
		if p.changed { // the scenario's arguments are about another one
			one.run.Expected, one.run.ExpectedClass, one.run.Because, one.run.AsExpected = nil, nil, nil, true
		}
		d.Results.Runs = append(d.Results.Runs, one.run)
		histories[one.run.Lock] = one.history
	}
	d.Histories = func(r results.Run) (*history.History, error) { return histories[r.Lock], nil }
	if !p.changed {
		d.About = []reports.About{{Name: p.Scenario, Otherwise: p.scenario.Otherwise}}
	}
	var page bytes.Buffer
	if err := reports.One(&page, d, !p.changed); err != nil {
		return nil, err
	}
	run, beside := d.Results.Runs[0], ""
	if len(all) > 1 {
		beside = all[1].run.Lock
	}
	return &Response{
		Beside: beside, Scenario: p.Scenario, Title: p.scenario.Title, Story: strings.Join(strings.Fields(p.scenario.Story), " "), Lock: p.Lock, Seed: p.Seed, Changed: p.changed,
		Params: params(p.asItIs, p.Set), Verdicts: run.Verdicts, HTML: page.String(),
		Hash: run.HistorySHA256, Command: reports.Replay(&run), File: strings.TrimPrefix(p.file(), "./"), YAML: p.source,
	}, nil
}
