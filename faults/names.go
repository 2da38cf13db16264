package faults

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// ParseDuration reads "3s", "250ms", "1m30s". A duration needs a unit, except for
// 0.
func ParseDuration(text string) (Duration, error) {
	d, err := time.ParseDuration(strings.TrimSpace(text))
	if err != nil {
		return 0, fmt.Errorf(`%q is not a duration: write a duration such as "3s" or "250ms"`, text)
	}
	return Duration(d), nil
}

// String writes the duration as [ParseDuration] reads it.
func (d Duration) String() string { return time.Duration(d).String() }

// MarshalYAML writes the duration as text.
func (d Duration) MarshalYAML() (any, error) { return d.String(), nil }

// UnmarshalYAML reads text such as "1.5s". Its errors keep their place in the file.
func (d *Duration) UnmarshalYAML(n ast.Node) (err error) {
	text := n.String()
	if s, ok := n.(*ast.StringNode); ok {
		text = s.Value
	}
	if *d, err = ParseDuration(text); err != nil {
		return &yaml.SyntaxError{Message: err.Error(), Token: n.GetToken()}
	}
	return nil
}

// MarshalJSON writes the duration as text.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(d.String()) }

// UnmarshalJSON reads text such as "1.5s".
func (d *Duration) UnmarshalJSON(b []byte) (err error) {
	text := string(b)
	if len(b) > 0 && b[0] == '"' {
		if err := json.Unmarshal(b, &text); err != nil {
			return err
		}
	}
	*d, err = ParseDuration(text)
	return err
}

var errNames = errors.New("a name or a list of names is needed, such as client-1 or [client-1, client-2]")

// MarshalYAML writes one name as text, and several as a list.
func (n Names) MarshalYAML() (any, error) {
	if len(n) == 1 {
		return n[0], nil
	}
	return []string(n), nil
}

// UnmarshalYAML reads one name or a list of names.
func (n *Names) UnmarshalYAML(node ast.Node) error {
	var v any
	if err := yaml.NodeToValue(node, &v); err != nil {
		return err
	}
	if err := n.set(v); err != nil {
		return &yaml.SyntaxError{Message: err.Error(), Token: node.GetToken()}
	}
	return nil
}

// UnmarshalJSON reads one name or a list of names.
func (n *Names) UnmarshalJSON(b []byte) error {
	var v any
	if err := json.Unmarshal(b, &v); err != nil {
		return err
	}
	return n.set(v)
}

func (n *Names) set(v any) error {
	switch v := v.(type) {
	case nil:
		*n = nil
	case string:
		*n = Names{v}
	case []any:
		list := make(Names, 0, len(v))
		for _, item := range v {
			name, ok := item.(string)
			if !ok {
				return errNames
			}
			list = append(list, name)
		}
		*n = list
	default:
		return errNames
	}
	return nil
}
