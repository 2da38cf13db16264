package conform

const documentSchema = "holdfast-adapter-check/1"

type Document struct {
	Schema  string   `json:"schema"`
	Version string   `json:"version"`
	Command []string `json:"command"`
	Report
	Summary Summary `json:"summary"`
}

// Summary counts the checks by outcome.
type Summary struct {
	OK         int `json:"ok"`
	Failed     int `json:"failed"`
	NotClaimed int `json:"not_claimed"`
	NotTried   int `json:"not_tried"`
}

func (r Report) Document(version string, command []string) Document {
	return Document{documentSchema, version, command, r, r.summary()}
}

func (r Report) summary() Summary {
	return Summary{r.Count(OK), r.Count(Failed), r.Count(NotClaimed), r.Count(NotTried)}
}
