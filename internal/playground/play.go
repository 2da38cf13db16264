package playground

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/input"
	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/holdfast-go/holdfast/internal/version"
	"github.com/holdfast-go/holdfast/reports"
	"github.com/holdfast-go/holdfast/reports/results"
)

// Response is the answer to a visitor. HTML is a part of a page; every text in it is
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

// refusal is the answer to a visitor in the place of a [Response].
type refusal struct {
	Error string `json:"error"`
	Hint  string `json:"hint,omitempty"`
}

// kind plays a [Request], and gives a [Response].
const kind = "playground"

func init() { suite.RegisterKind(kind, playKind) }

// Answer plays the request in body on r, and returns the JSON of a [Response], or
// of a [refusal] and an error. The error is a [*RefusedError] where the request is
// at fault, that of ctx where it has ended, or a defect of holdfast.
func Answer(ctx context.Context, r suite.Runner, body []byte) ([]byte, error) {
	out, err := answer(ctx, r, body)
	var refused *refusedError
	switch {
	case errors.As(err, &refused):
		out, _ = json.Marshal(refusal{refused.Reason, refused.Hint}) // two texts
	case err != nil:
		out, _ = json.Marshal(refusal{Error: "a defect of holdfast itself: " + input.Plain(err.Error()), Hint: "please report it, with the request and the version"})
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
	bounded, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	alone, run, err := p.play(bounded, r, order{Request: request})
	switch {
	case err != nil && ctx.Err() == nil && bounded.Err() != nil:
		return nil, &refusedError{fmt.Sprintf("the run did not end within %v", answerTime), "the machine may be busy; holdfast run waits for longer"}
	case err != nil:
		return nil, err
	}
	survivors := p.survivors()
	if len(alone.History) == 0 || len(survivors) == 0 {
		return alone.Response, nil
	}
	// A survivor that takes too long must not cost the visitor this answer.
	both, _, err := p.play(bounded, r, order{request, survivors, run, alone.History})
	if err != nil || len(both.Response) == 0 {
		return alone.Response, nil
	}
	return both.Response, nil
}

// play plays an order in one job, which may take [RunTime].
func (p *plan) play(ctx context.Context, r suite.Runner, o order) (*outcome, *results.Run, error) {
	args, err := json.Marshal(o)
	if err != nil {
		return nil, nil, fmt.Errorf("encode request: %w", err)
	}
	job := suite.Job{Scenario: p.Scenario, File: p.file(), Source: p.source, Lock: p.Lock, Seed: p.Seed, Judge: true, Kind: kind, Args: args}
	answers, err := suite.Round(ctx, r, []suite.Job{job})
	if err != nil {
		return nil, nil, err
	}
	a := answers[0]
	switch {
	case a.Defect != "":
		return nil, nil, errors.New(a.Defect)
	case a.Run.Failure != "" && len(a.Out) == 0:
		return nil, nil, &refusedError{"the run did not end: " + input.Plain(a.Run.FailureReason()), fmt.Sprintf("a run may take %v of processor time here; holdfast run waits for longer", RunTime)}
	}
	out, err := suite.DecodeAs[outcome](a.Out)
	if err != nil || out == nil {
		return nil, nil, cmp.Or(err, errors.New("the job gave no answer"))
	}
	return out, &a.Run, nil
}

type outcome struct {
	// Response is the JSON of a [Response]; empty if no other lock survives.
	Response json.RawMessage `json:"response,omitempty"`
	// History is that of the chosen lock, if it violates a property and a survivor
	// is to be found.
	History []byte `json:"history,omitempty"`
}

// playKind plays and judges a run, and draws it. With Beside it plays those locks
// instead, and draws the first that survives beside the run that the order has.
func playKind(j suite.Job, a suite.Answer, g suite.Guard) suite.Answer {
	out, err := playOrder(j, &a, g)
	switch {
	case err != nil:
		a.Defect = err.Error()
	case out != nil:
		a.Give(out)
	}
	return a
}

// playOrder returns nil if the chosen lock could not be played.
func playOrder(j suite.Job, a *suite.Answer, g suite.Guard) (*outcome, error) {
	o, err := suite.DecodeAs[order](j.Args)
	if err != nil {
		return nil, err
	}
	p, err := o.plan()
	if err != nil {
		return nil, err
	}
	if len(o.Beside) == 0 {
		_, played := a.Play(j, g, j.Simulate)
		if played == nil || a.Defect != "" {
			return nil, nil
		}
		response, err := p.respond([]drawn{{a.Run, played.History}})
		if err != nil || !violated(a.Run.Verdicts) {
			return &outcome{Response: response}, err
		}
		var kept bytes.Buffer
		err = played.History.Encode(&kept)
		return &outcome{response, kept.Bytes()}, err
	}
	first, err := history.Decode(bytes.NewReader(o.History))
	if err != nil {
		return nil, err
	}
	for _, lock := range o.Beside {
		other := j
		other.Lock = lock
		b := suite.Answer{Run: other.Run("sim")}
		if _, played := b.Play(other, g, other.Simulate); played != nil && survives(b.Run) {
			response, err := p.respond([]drawn{{*o.Run, first}, {b.Run, played.History}})
			return &outcome{Response: response}, err
		}
	}
	return new(outcome), nil
}

// respond draws the run of the chosen lock, and beside it one that survives.
func (p *plan) respond(all []drawn) (json.RawMessage, error) {
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
	if err := d.One(&page, !p.changed); err != nil {
		return nil, err
	}
	run, beside := d.Results.Runs[0], ""
	if len(all) > 1 {
		beside = all[1].run.Lock
	}
	return json.Marshal(Response{
		Beside: beside, Scenario: p.Scenario, Title: p.scenario.Title, Story: strings.Join(strings.Fields(p.scenario.Story), " "), Lock: p.Lock, Seed: p.Seed, Changed: p.changed,
		Params: params(p.asItIs, p.Set), Verdicts: run.Verdicts, HTML: page.String(),
		Hash: run.HistorySHA256, Command: reports.Replay(&run), File: strings.TrimPrefix(p.file(), "./"), YAML: p.source,
	})
}
