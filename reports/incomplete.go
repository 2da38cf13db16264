package reports

import (
	"fmt"
	"strings"
)

// missingWords lists the histories that are not there; empty when all are.
func (d Document) missingWords() string {
	if len(d.Missing) == 0 {
		return ""
	}
	return clean(fmt.Sprintf("Missing: %s.", strings.Join(d.Missing, ", ")))
}
