package input

import (
	"bytes"
	"cmp"
	"errors"
	"reflect"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	v1 "github.com/go-json-experiment/json/v1"
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
	err := json.Unmarshal(doc, v, v1.DefaultOptionsV1(), json.MatchCaseInsensitiveNames(false), json.RejectUnknownMembers(!j.Unknown),
		jsontext.AllowDuplicateNames(false), jsontext.AllowInvalidUTF8(false))
	if err == nil && j.Null && !j.Unknown {
		return nil // the walk would refuse nothing more
	}
	walk := walker{jsontext.NewDecoder(bytes.NewReader(doc)), j}.value(reflect.TypeOf(v))
	var syntax *jsontext.SyntacticError
	switch {
	case !errors.As(walk, &syntax):
		return cmp.Or(walk, err) // the walk's words are clearer
	case errors.Is(walk, jsontext.ErrDuplicateName):
		return errors.New(Sprintf("the key %q comes twice", syntax.JSONPointer.LastToken()))
	}
	return err
}

// walker walks through the tokens of a JSON document.
type walker struct {
	d *jsontext.Decoder
	JSON
}

var unmarshaler = reflect.TypeFor[v1.Unmarshaler]()

// value reads a value for a type. A nil type has no keys.
func (w walker) value(as reflect.Type) error {
	for as != nil && as.Kind() == reflect.Pointer {
		as = as.Elem()
	}
	if as != nil && reflect.PointerTo(as).Implements(unmarshaler) {
		as = nil
	}
	token, err := w.d.ReadToken()
	if err != nil {
		return err
	}
	switch token.Kind() {
	case 'n':
		if !w.Null {
			return errors.New("null is no value: leave the key out")
		}
	case '[':
		var of reflect.Type
		if as != nil && (as.Kind() == reflect.Slice || as.Kind() == reflect.Array) {
			of = as.Elem()
		}
		for w.d.PeekKind() != ']' {
			if err := w.value(of); err != nil {
				return err
			}
		}
		_, err = w.d.ReadToken()
	case '{':
		err = w.object(as)
	}
	return err
}

func (w walker) object(as reflect.Type) error {
	for w.d.PeekKind() != '}' {
		token, err := w.d.ReadToken()
		if err != nil {
			return err
		}
		var of reflect.Type
		switch {
		case as == nil:
		case as.Kind() == reflect.Map:
			of = as.Elem()
		case as.Kind() == reflect.Struct:
			key, keys := token.String(), keysOf(as)
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
	_, err := w.d.ReadToken()
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
		keys[cmp.Or(name, f.Name)] = f.Type
	}
	structs.Store(s, keys)
	return keys
}
