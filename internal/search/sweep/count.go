package sweep

import "github.com/holdfast-go/holdfast/checker"

// Count counts the runs at a point by their verdicts. The sum of two counts of
// different seeds adds every field.
type Count struct {
	Runs int `json:"runs"`
	// Overlaps are the runs in which two owners held the lock at once, and Lost
	// those that lost an update.
	Overlaps int `json:"overlaps"`
	Lost     int `json:"lost_updates"`
	// OverlapsUnknown and LostUnknown are the runs without a verdict on it.
	OverlapsUnknown int `json:"overlaps_unknown"`
	LostUnknown     int `json:"lost_updates_unknown"`
}

// Add counts one run by its verdicts. A verdict that is missing is unknown.
func (c *Count) Add(verdicts map[checker.Property]checker.Verdict) {
	c.Runs++
	tally(verdicts[checker.Exclusion], &c.Overlaps, &c.OverlapsUnknown)
	tally(verdicts[checker.ResourceSafe], &c.Lost, &c.LostUnknown)
}

func tally(v checker.Verdict, violated, unknown *int) {
	switch v.Outcome {
	case checker.Violated:
		*violated++
	case checker.OutcomeOK:
	default:
		*unknown++
	}
}

func (c Count) plus(d Count) Count {
	return Count{
		Runs: c.Runs + d.Runs, Overlaps: c.Overlaps + d.Overlaps, Lost: c.Lost + d.Lost,
		OverlapsUnknown: c.OverlapsUnknown + d.OverlapsUnknown, LostUnknown: c.LostUnknown + d.LostUnknown,
	}
}

// overlap is the proportion of runs with an overlap, of those that are known.
func (c Count) overlap() proportion { return proportion{c.Overlaps, c.Runs - c.OverlapsUnknown} }

// lostUpdate is the proportion of runs that lost an update, of those that are
// known.
func (c Count) lostUpdate() proportion { return proportion{c.Lost, c.Runs - c.LostUnknown} }
