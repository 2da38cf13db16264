package checker

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

func encode(w io.Writer, h *History) error {
	b := bufio.NewWriter(w)
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	if err := e.Encode(h.Header); err != nil {
		return fmt.Errorf("encode history: %w", err)
	}
	for i := range h.Events {
		if err := e.Encode(&h.Events[i]); err != nil {
			return fmt.Errorf("encode history: %w", err)
		}
	}
	if err := b.Flush(); err != nil {
		return fmt.Errorf("encode history: %w", err)
	}
	return nil
}

func decode(r io.Reader) (*History, error) {
	d, err := NewDecoder(r)
	if err != nil {
		return nil, err
	}
	h := &History{Header: d.Header()}
	for {
		e, err := d.Next()
		if errors.Is(err, io.EOF) {
			return h, nil
		}
		if err != nil {
			return nil, err
		}
		h.Events = append(h.Events, e)
	}
}

// strict reads exactly one JSON object from a line.
func strict(raw []byte, v any) error {
	if trimmed := bytes.TrimSpace(raw); len(trimmed) == 0 || trimmed[0] != '{' {
		return errors.New("not a JSON object")
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the JSON object on its line")
	}
	return nil
}

// plainJSON puts an error of the JSON package in a user's words.
func plainJSON(err error) string {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax), errors.Is(err, io.ErrUnexpectedEOF):
		return "not JSON: " + strings.TrimPrefix(err.Error(), "json: ")
	case errors.As(err, &kind):
		return fmt.Sprintf("field %q cannot be a %s", kind.Field, kind.Value)
	}
	return strings.TrimPrefix(err.Error(), "json: ")
}
