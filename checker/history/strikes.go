package history

// Strike is one strike of a planned fault, or its failure to strike.
type Strike struct {
	*FaultEvent // of the start, or of the failure
	Traits
	// From is the start. To is the end: that of the history for a fault that still
	// lasts then, and From for an instant one.
	From, To int64
	Ended    bool // an event ended it
}

// Failed reports whether the fault could not strike.
func (s *Strike) Failed() bool { return s.Phase == PhaseFailed }

// Open reports whether the fault still lasts at the end of the history.
func (s *Strike) Open() bool { return !s.Ended && !s.Instant && !s.Failed() }

// Lasted reports whether the fault lasted for a time: an event ended it, or it is open.
func (s *Strike) Lasted() bool { return s.Ended || s.Open() }

// Strikes lists what faults did in a history, in order of time.
func (h *History) Strikes() []*Strike {
	traits := map[int]Traits{}
	for _, f := range h.Header.Faults {
		traits[f.ID] = f.Traits
	}
	var all []*Strike
	last := map[int]*Strike{} // by the id of the fault, those that have not ended
	for i := range h.Events {
		e := &h.Events[i]
		if e.Kind != Fault || e.Fault == nil {
			continue
		}
		if e.Fault.Phase == PhaseEnd {
			if s := last[e.Fault.ID]; s != nil {
				s.To, s.Ended = e.Time, true
				delete(last, e.Fault.ID)
			}
			continue
		}
		s := &Strike{FaultEvent: e.Fault, Traits: traits[e.Fault.ID], From: e.Time, To: e.Time}
		all = append(all, s)
		if !s.Failed() {
			last[e.Fault.ID] = s
		}
	}
	for _, s := range all {
		if s.Open() {
			s.To = h.Events[len(h.Events)-1].Time
		}
	}
	return all
}
