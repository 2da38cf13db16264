package sweep

import (
	"fmt"
	"strconv"
	"time"

	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/scenarios"
)

// plain is a value for people: "5 ms", "30 s", "2 replicas".
func (p Param) plain(v Value) string {
	if p.Count {
		return english.Count(int(v), "replica")
	}
	return span(time.Duration(v))
}

// span is a time in one unit.
func span(d time.Duration) string {
	in := func(unit time.Duration, name string) string {
		return strconv.FormatFloat(float64(d)/float64(unit), 'g', 6, 64) + " " + name
	}
	switch a := d.Abs(); {
	case a >= 10*time.Minute && d%time.Minute == 0:
		return in(time.Minute, "min")
	case a >= time.Second:
		return in(time.Second, "s")
	case a >= time.Millisecond:
		return in(time.Millisecond, "ms")
	case a >= time.Microsecond:
		return in(time.Microsecond, "µs")
	}
	return in(time.Nanosecond, "ns")
}

// with is a value in a sentence: "a replication lag of 5 ms".
func (p Param) with(v Value) string { return fmt.Sprintf(p.noun, p.plain(v)) }

// words is a point in a sentence, after what else is to be said first.
func (p *Plan) words(at Point, first ...string) string {
	all := first
	for i, a := range p.Axes {
		all = append(all, a.Param.with(at[i]))
	}
	return english.And(all)
}

// setting is a point in a sentence, with the lease that holds there.
func (p *Plan) setting(at Point) string {
	for _, a := range p.Axes {
		if a.Param.Name == "lease" {
			return p.words(at)
		}
	}
	return p.words(at, leaseOf(p.Scenario))
}

func leaseOf(s *scenarios.Scenario) string {
	return "a lease of " + span(time.Duration(s.Workload.Lease))
}

// sentence sums up the runs at a point: "with a lease of 30 s and a replication
// lag of 5 ms, 1 in 240 failovers gives two holders (95 %: 180 to 330)".
func (p *Plan) sentence(at Point, c Count) string {
	return "with " + p.setting(at) + ", " + c.overlap().chance(p.events(), "gives two holders", "give two holders") + leftOut(c.OverlapsUnknown)
}

func (p *Plan) lostSentence(at Point, c Count) string {
	return "with " + p.setting(at) + ", " + c.lostUpdate().chance(p.events(), "loses an update", "lose an update") + leftOut(c.LostUnknown)
}

func leftOut(unknown int) string {
	if unknown == 0 {
		return ""
	}
	return fmt.Sprintf("; %d more are unknown", unknown)
}

func (p *Plan) boundaryWords(b boundary) string {
	first := p.Axes[0].Param
	in := ""
	if b.Second != nil {
		in = "with " + p.Axes[1].Param.with(*b.Second) + ", "
	}
	return fmt.Sprintf("%soverlaps begin between %s (%d of %d) and %s (%d of %d)", in,
		first.with(b.Without), b.CountWithout.Overlaps, b.CountWithout.overlap().Of,
		first.with(b.With), b.CountWith.Overlaps, b.CountWith.overlap().Of)
}
