package reports

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/internal/english"
)

// pictureView is the first screen: hazards as rows, locks as columns.
type pictureView struct {
	Answer string
	Locks  []string // the one that survives most comes first
	Rows   []pictureRow
}

type pictureRow struct {
	Hazard string
	Cells  []pictureCell
}

// pictureCell tells the effect of a hazard on a lock.
type pictureCell struct {
	Class, Symbol, Says string
	Anchor              template.URL // a run that shows it
}

// standing counts the hazards of a lock.
type standing struct {
	lock                  string
	own, broken, survived []string // hazards: broken by its own fault, broken at all, survived
	scenarios             int      // that break it
}

func (y *tally) standing(lock string, hazards []string) standing {
	s := standing{lock: lock}
	for _, h := range hazards {
		k := place{lock, h}
		s.scenarios += len(y.broken[k])
		switch {
		case len(y.broken[k]) > 0:
			s.broken = append(s.broken, h)
			if y.own(k) {
				s.own = append(s.own, h)
			}
		case len(y.played[k]) > 0 && !y.unknown[k]:
			s.survived = append(s.survived, h)
		}
	}
	return s
}

// better orders locks. It compares the hazards that break a lock by its own fault, then those
// that it survives, then the scenarios that break it.
func better(a, b standing) int {
	return cmp.Or(cmp.Compare(len(a.own), len(b.own)), cmp.Compare(len(b.survived), len(a.survived)), cmp.Compare(a.scenarios, b.scenarios))
}

// picture is nil for results of a single cell, or of none.
func (p *pager) picture() *pictureView {
	var all []standing
	for _, l := range p.m.locks {
		if s := p.tally.standing(l, p.hazards()); slices.ContainsFunc(p.hazards(), func(h string) bool { return len(p.tally.played[place{l, h}]) > 0 }) {
			all = append(all, s)
		}
	}
	slices.SortStableFunc(all, better)
	v := pictureView{Locks: english.Words(all, func(s standing) string { return english.Name(s.lock) })}
	for _, h := range p.hazards() {
		row, played := pictureRow{Hazard: english.Clean(h)}, false
		for _, s := range all {
			k := place{s.lock, h}
			row.Cells = append(row.Cells, p.pictureCell(k))
			played = played || len(p.tally.played[k]) > 0
		}
		if played {
			v.Rows = append(v.Rows, row)
		}
	}
	if len(v.Rows)*len(v.Locks) < 2 {
		return nil
	}
	v.Answer = all[0].words(len(v.Rows), len(all) > 1)
	return &v
}

// words sums up a lock in a sentence; first says that it stands before others.
func (s standing) words(of int, first bool) string {
	name := english.Name(s.lock)
	if len(s.survived) == of {
		return fmt.Sprintf("%s survives every hazard.", name)
	}
	most := ""
	if first {
		most = "the most, "
	}
	out := fmt.Sprintf("%s survives %s%d of %s.", name, most, len(s.survived), english.Count(of, "hazard"))
	switch {
	case len(s.own) > 0:
		out += fmt.Sprintf(" By its own fault it breaks under %s.", english.And(s.own))
	case len(s.broken) > 0:
		out += fmt.Sprintf(" Under %s any lock with its promises breaks.", english.And(s.broken))
	}
	return english.Clean(out)
}

func (p *pager) pictureCell(k place) pictureCell {
	played, broken, says := p.tally.played[k], p.tally.broken[k], english.Name(k.lock)+", "+english.Clean(k.under)+": "
	if len(played) == 0 {
		return pictureCell{Class: "skipped", Symbol: looks[markSkipped].symbol, Says: says + "not played"}
	}
	shows := played[0]
	c := pictureCell{Class: "ok", Symbol: looks[markOK].symbol}
	switch {
	case len(broken) > 0:
		all := p.tally.breaks(k)
		shows = all[0].scenarios[0]
		says += fmt.Sprintf("breaks in %d of %s: %s", len(broken), english.Count(len(played), "scenario"), english.And(english.Words(all, func(b breakage) string { return b.harm.String() })))
		if c.Class, c.Symbol = "broken", looks[markBroken].symbol; p.tally.own(k) {
			says += "; its own fault"
		} else {
			c.Class, c.Symbol = "inherent", "◐"
			says += "; so would any lock with the same promises"
		}
		if ms := p.tally.overlap[k]; ms > 0 {
			says += "; two holders for up to " + overlapNote(ms)
		}
	case p.tally.unknown[k]:
		c.Class, c.Symbol = "unknown", looks[markUnknown].symbol
		says += "not everything was decided"
	default:
		says += "survives " + english.Count(len(played), "scenario")
	}
	c.Says, c.Anchor = says, p.anchors[[2]string{shows, k.lock}]
	return c
}

// leadView is the run that tells most, beside one that survives.
type leadView struct {
	Title, Why string
	Anchor     template.URL
	Pictures   []briefPicture
}

// lead is nil without a history. Results of one lock that no run breaks lead with their
// first run.
func (p *pager) lead() *leadView {
	r, _, _ := choose(p.d, "")
	if r == nil && len(p.m.locks) == 1 && len(p.d.Results.Runs) > 0 {
		r = &p.d.Results.Runs[0]
	}
	if r == nil {
		return nil
	}
	h, _ := p.d.history(*r)
	if h == nil {
		return nil
	}
	v := leadView{Title: english.Clean(cmp.Or(p.d.about(r.Scenario).Title, r.Scenario)), Anchor: p.anchors[[2]string{r.Scenario, r.Column()}]}
	v.Pictures = p.d.drawPair(h, r, survivor(p.d, r))
	for _, prop := range propertiesOf(r) {
		if x := r.Verdicts[prop]; x.Outcome == checker.Violated {
			v.Why = cutWords(x.Reason, 360)
			break
		}
	}
	if len(v.Pictures) == 0 {
		return nil
	}
	return &v
}
