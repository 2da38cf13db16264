package explore

// Listed is a hazard that a scenario of the catalogue shows of a lock, and
// whether exploring has come upon it by itself.
type Listed struct {
	Scenario string `json:"scenario"`
	Cause
	// By is the key of the find that is the same hazard: the same went wrong
	// after some of the same faults. Empty when there is none.
	By string `json:"by,omitempty"`
}

// Recall looks for every hazard among the causes.
func Recall(listed []Listed, causes []Found) {
	for i := range listed {
		listed[i].By = ""
		for _, c := range Distinct(causes) {
			if c.Least().Explains(listed[i].Cause) {
				listed[i].By = c.Key
				break
			}
		}
	}
}
