package scenarios

import (
	"fmt"

	"github.com/goccy/go-yaml"
)

// YAML writes a scenario as a file that [Parse] reads as the same scenario. It
// omits comments and zero settings.
func (s *Scenario) YAML() ([]byte, error) {
	src, err := yaml.MarshalWithOptions(s, yaml.OmitEmpty(), yaml.UseLiteralStyleIfMultiline(true))
	if err != nil {
		return nil, fmt.Errorf("write scenario %s: %w", s.Name, err)
	}
	return src, nil
}
