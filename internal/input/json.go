package input

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
	"sync"
	"unicode/utf8"
)

// JSON reads JSON more strictly than package json does. It refuses text that is
// not UTF-8, a repeated key, and a key that differs from a struct's only in case.
// Package json would guess.
type JSON struct {
	Unknown bool // accept keys that no struct has
	Null    bool // accept null
}

// Unmarshal reads one document into v, a pointer. Its errors repeat little of the
// document, and only printable characters.
func (j JSON) Unmarshal(doc []byte, v any) error {
	if err := j.unmarshal(doc, v); err != nil {
		return &plainError{err}
	}
	return nil
}

type plainError struct{ error }

func (e *plainError) Error() string { return Plain(e.error.Error()) }

func (e *plainError) Unwrap() error { return e.error }

func (j JSON) unmarshal(doc []byte, v any) error {
	if !utf8.Valid(doc) {
		return errors.New("not UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(doc))
	if !j.Unknown {
		d.DisallowUnknownFields()
	}
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the JSON object")
	}
	w := walker{json.NewDecoder(bytes.NewReader(doc)), j}
	w.d.UseNumber()
	return w.value(reflect.TypeOf(v))
}

// walker walks through the tokens of a valid JSON document.
type walker struct {
	d *json.Decoder
	JSON
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

// value reads a value for a type. A nil type knows no keys.
func (w walker) value(as reflect.Type) error {
	for as != nil && as.Kind() == reflect.Pointer {
		as = as.Elem()
	}
	if as != nil && reflect.PointerTo(as).Implements(unmarshaler) {
		as = nil
	}
	token, err := w.d.Token()
	if err != nil {
		return err
	}
	switch token {
	case nil:
		if !w.Null {
			return errors.New("null is no value: leave the key out")
		}
	case json.Delim('['):
		var of reflect.Type
		if as != nil && (as.Kind() == reflect.Slice || as.Kind() == reflect.Array) {
			of = as.Elem()
		}
		for w.d.More() {
			if err := w.value(of); err != nil {
				return err
			}
		}
		_, err = w.d.Token()
	case json.Delim('{'):
		err = w.object(as)
	}
	return err
}

func (w walker) object(as reflect.Type) error {
	seen := map[string]bool{}
	for w.d.More() {
		token, err := w.d.Token()
		if err != nil {
			return err
		}
		key := token.(string)
		if seen[key] {
			return errors.New(Sprintf("the key %q comes twice", key))
		}
		seen[key] = true
		var of reflect.Type
		switch {
		case as == nil:
		case as.Kind() == reflect.Map:
			of = as.Elem()
		case as.Kind() == reflect.Struct:
			keys := keysOf(as)
			if of = keys[key]; of == nil {
				for k := range keys {
					if strings.EqualFold(k, key) {
						return errors.New(Sprintf("the key %q is written %q", key, k))
					}
				}
			}
		}
		if err := w.value(of); err != nil {
			return err
		}
	}
	_, err := w.d.Token()
	return err
}

var structs sync.Map // reflect.Type -> map[string]reflect.Type

// keysOf are the keys of a struct, including those of embedded structs.
func keysOf(s reflect.Type) map[string]reflect.Type {
	if known, ok := structs.Load(s); ok {
		return known.(map[string]reflect.Type)
	}
	keys := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(s) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || name == "-" || f.Anonymous && name == "" {
			continue
		}
		if name == "" {
			name = f.Name
		}
		keys[name] = f.Type
	}
	structs.Store(s, keys)
	return keys
}
