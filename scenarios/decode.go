package scenarios

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/internal/input"
)

// decoder fills Go values from parsed YAML. Unlike the strict decoder of a YAML
// library, it uses the words of the file instead of Go types. It suggests the
// nearest allowed key, and remembers the position of every value for later errors.
type decoder struct {
	file    string
	anchors map[string]ast.Node
	// values and keys are where each value, and the key before it, stands, by
	// path: "faults[1].on.client".
	values map[string]*token.Position
	keys   map[string]*token.Position
}

// Bounds of a scenario file: its bytes, and how deep lists and sets of keys may
// be nested on one line. The longest in the catalogue has 4 KiB, and the format
// nests six deep. The YAML parser takes time and memory by the square of either.
const (
	maxSource  = 64 << 10
	maxNesting = 50
)

// maxDuration bounds every time in a scenario, so that sums cannot overflow.
const maxDuration = 24 * time.Hour

var (
	durationType = reflect.TypeFor[faults.Duration]()
	namesType    = reflect.TypeFor[faults.Names]()
)

// decode reads src into the struct that into points to.
func decode(file string, src []byte, into any) (*decoder, error) {
	d := &decoder{
		file:    file,
		anchors: map[string]ast.Node{},
		values:  map[string]*token.Position{},
		keys:    map[string]*token.Position{},
	}
	start := &token.Position{Line: 1, Column: 1}
	src = bytes.TrimPrefix(src, []byte("\xef\xbb\xbf"))
	if len(src) > maxSource {
		return nil, d.errorf(start, "a short text file", "the file has %d bytes: too long for a scenario", len(src))
	}
	for i, rest := 0, src; len(rest) > 0; {
		r, n := utf8.DecodeRune(rest)
		if r == utf8.RuneError && n == 1 || r == 0 {
			line := 1 + bytes.Count(src[:i], []byte("\n"))
			col := 1 + utf8.RuneCount(src[bytes.LastIndexByte(src[:i], '\n')+1:i])
			return nil, d.errorf(&token.Position{Line: line, Column: col}, "a scenario is YAML, saved as UTF-8", "not a text file")
		}
		i, rest = i+n, rest[n:]
	}
	tokens := lexer.Tokenize(string(src))
	if deep := tooDeep(tokens); deep != nil {
		return nil, d.errorf(deep.Position, "a scenario is a few lists and sets of keys", "nested more than %d deep", maxNesting)
	}
	file1, err := parser.Parse(tokens, 0)
	if err != nil {
		return nil, d.syntaxError(err)
	}
	var body ast.Node
	for _, doc := range file1.Docs {
		if doc.Body == nil || doc.Body.Type() == ast.NullType {
			continue
		}
		if body != nil {
			return nil, d.errorf(position(doc.Body), "put each scenario into a file of its own", "a second document in one file")
		}
		body = doc.Body
	}
	if body == nil {
		return nil, d.errorf(start, "start from one that works: holdfast show contention > mine.yaml", "the file has no scenario")
	}
	return d, d.value(body, reflect.ValueOf(into).Elem(), "")
}

// tooDeep returns the token at which lists or sets of keys nest too deeply, by
// brackets or by dashes on one line, or nil.
func tooDeep(tokens token.Tokens) *token.Token {
	open, dashes, line := 0, 0, 0
	for _, t := range tokens {
		if t.Position.Line != line {
			dashes, line = 0, t.Position.Line
		}
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			open++
		case token.SequenceEndType, token.MappingEndType:
			open = max(open-1, 0)
		case token.SequenceEntryType, token.MappingKeyType:
			dashes++
		}
		if open > maxNesting || dashes > maxNesting {
			return t
		}
	}
	return nil
}

// value stores the node into v.
func (d *decoder) value(n ast.Node, v reflect.Value, path string) error {
	n, err := d.resolve(n)
	if err != nil {
		return err
	}
	if _, known := d.values[path]; !known {
		d.values[path] = position(n)
	}
	if n.Type() == ast.NullType {
		return d.errorf(position(n), "write a value, or leave the key out", "%s has no value", called(path))
	}
	switch v.Type() {
	case durationType:
		return d.duration(n, v, path)
	case namesType:
		if text, ok := d.text(n); ok {
			v.Set(reflect.ValueOf(faults.Names{text}))
			return nil
		}
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return d.value(n, v.Elem(), path)
	case reflect.Struct:
		return d.object(n, v, path)
	case reflect.Map:
		return d.table(n, v, path)
	case reflect.Slice:
		return d.list(n, v, path)
	}
	return d.scalar(n, v, path)
}

// object stores a mapping into a struct, whose yaml tags are the allowed keys.
func (d *decoder) object(n ast.Node, v reflect.Value, path string) error {
	var allowed []string
	for i := range v.NumField() {
		allowed = append(allowed, keyOf(v.Type().Field(i)))
	}
	return d.pairs(n, path, func(key string, at *token.Position, value ast.Node) error {
		for i, k := range allowed {
			if k == key {
				return d.value(value, v.Field(i), below(path, key))
			}
		}
		return d.errorf(at, didYouMean(key, allowed), "unknown key %q%s", key, in(path))
	})
}

// table stores a mapping into a map whose keys the user chose.
func (d *decoder) table(n ast.Node, v reflect.Value, path string) error {
	v.Set(reflect.MakeMap(v.Type()))
	return d.pairs(n, path, func(key string, _ *token.Position, value ast.Node) error {
		e := reflect.New(v.Type().Elem()).Elem()
		if err := d.value(value, e, below(path, key)); err != nil {
			return err
		}
		v.SetMapIndex(reflect.ValueOf(key), e)
		return nil
	})
}

// pairs calls f for every key of a mapping, with the keys of a merge ("<<:
// *other") in place. The mapping's own keys win.
func (d *decoder) pairs(n ast.Node, path string, f func(string, *token.Position, ast.Node) error) error {
	m, ok := n.(ast.MapNode)
	if !ok {
		return d.errorf(position(n), "write it as \"key: value\" lines, indented", "%s must be a set of keys, not %s", called(path), describe(n))
	}
	for it := m.MapRange(); it.Next(); {
		pair := it.KeyValue()
		if pair.Key.IsMergeKey() {
			other, err := d.resolve(pair.Value)
			if err != nil {
				return err
			}
			if err := d.pairs(other, path, func(key string, at *token.Position, value ast.Node) error {
				if hasKey(m, key) {
					return nil
				}
				return f(key, at, value)
			}); err != nil {
				return err
			}
			continue
		}
		key, ok := d.text(pair.Key)
		if !ok {
			return d.errorf(position(pair.Key), "put it in quotes", "the key %s is not a text", pair.Key.String())
		}
		at := position(pair.Key)
		if _, known := d.keys[below(path, key)]; !known {
			d.keys[below(path, key)] = at
		}
		if err := f(key, at, pair.Value); err != nil {
			return err
		}
	}
	return nil
}

func hasKey(m ast.MapNode, key string) bool {
	for it := m.MapRange(); it.Next(); {
		if s, ok := it.KeyValue().Key.(*ast.StringNode); ok && s.Value == key {
			return true
		}
	}
	return false
}

func (d *decoder) list(n ast.Node, v reflect.Value, path string) error {
	seq, ok := n.(*ast.SequenceNode)
	if !ok {
		return d.errorf(position(n), "write it as [a, b], or as lines that start with \"- \"", "%s must be a list, not %s", called(path), describe(n))
	}
	v.Set(reflect.MakeSlice(v.Type(), len(seq.Values), len(seq.Values)))
	for i, item := range seq.Values {
		if err := d.value(item, v.Index(i), fmt.Sprintf("%s[%d]", path, i)); err != nil {
			return err
		}
	}
	return nil
}

func (d *decoder) scalar(n ast.Node, v reflect.Value, path string) error {
	switch v.Kind() {
	case reflect.String:
		if text, ok := d.text(n); ok {
			v.SetString(text)
			return nil
		}
		return d.errorf(position(n), "put it in quotes", "%s must be a text, not %s", called(path), describe(n))
	case reflect.Int:
		if i, ok := n.(*ast.IntegerNode); ok {
			switch x := i.Value.(type) {
			case int64:
				v.SetInt(x)
				return nil
			case uint64:
				if x <= 1<<31 {
					v.SetInt(int64(x))
					return nil
				}
			}
			return d.errorf(position(n), "", "%s is too large a number", called(path))
		}
		return d.errorf(position(n), "", "%s must be a whole number, not %s", called(path), describe(n))
	case reflect.Float64:
		switch x := n.(type) {
		case *ast.FloatNode:
			v.SetFloat(x.Value)
			return nil
		case *ast.IntegerNode:
			if i, ok := x.Value.(uint64); ok {
				v.SetFloat(float64(i))
				return nil
			}
		}
		return d.errorf(position(n), "", "%s must be a number above 0, not %s", called(path), describe(n))
	case reflect.Bool:
		if b, ok := n.(*ast.BoolNode); ok {
			v.SetBool(b.Value)
			return nil
		}
		what := describe(n)
		if text, ok := n.(*ast.StringNode); ok {
			what = input.Quote(text.Value)
		}
		return d.errorf(position(n), "write true, or leave it out", "%s must be true or false, not %s", called(path), what)
	}
	panic("scenarios: no decoding for " + v.Type().String())
}

const durationHint = "a number and a unit, such as 500us, 20ms, 1.5s or 2m"

func (d *decoder) duration(n ast.Node, v reflect.Value, path string) error {
	if i, ok := n.(*ast.IntegerNode); ok && i.Value == uint64(0) {
		return nil
	}
	text, ok := d.text(n)
	if !ok {
		if n.Type() == ast.IntegerType || n.Type() == ast.FloatType {
			return d.errorf(position(n), durationHint, "%s is a duration and needs a unit", called(path))
		}
		return d.errorf(position(n), durationHint, "%s must be a duration, not %s", called(path), describe(n))
	}
	x, err := time.ParseDuration(text)
	if err != nil {
		return d.errorf(position(n), durationHint, "%q is not a duration", text)
	}
	if x.Abs() > maxDuration {
		return d.errorf(position(n), "", "%s is longer than a day", called(path))
	}
	v.SetInt(int64(x))
	return nil
}

func (d *decoder) text(n ast.Node) (string, bool) {
	switch x := n.(type) {
	case *ast.StringNode:
		return x.Value, true
	case *ast.LiteralNode:
		return x.Value.Value, true
	}
	return "", false
}

// resolve looks through tags, anchors and aliases. The types that are decoded
// into do not nest without end, so neither can a chain of aliases.
func (d *decoder) resolve(n ast.Node) (ast.Node, error) {
	switch x := n.(type) {
	case *ast.TagNode:
		return d.resolve(x.Value)
	case *ast.AnchorNode:
		inner, err := d.resolve(x.Value)
		if err == nil {
			d.anchors[x.Name.GetToken().Value] = inner
		}
		return inner, err
	case *ast.AliasNode:
		name := x.Value.GetToken().Value
		if target, ok := d.anchors[name]; ok {
			return target, nil
		}
		return nil, d.errorf(position(n), input.Sprintf("an anchor &%s must come before it", name), "unknown alias *%s", name)
	}
	return n, nil
}

func (d *decoder) syntaxError(err error) error {
	if e, ok := err.(yaml.Error); ok && e.GetToken() != nil {
		at := e.GetToken().Position
		if strings.Contains(e.GetMessage(), "\t") {
			return d.errorf(at, "indent with spaces", "not valid YAML: a tab where a key should begin")
		}
		return d.errorf(at, "", "not valid YAML: %s", e.GetMessage())
	}
	return d.errorf(&token.Position{Line: 1, Column: 1}, "", "not valid YAML: %v", err)
}

func (d *decoder) errorf(at *token.Position, hint, format string, args ...any) *SourceError {
	return &SourceError{File: d.file, Line: at.Line, Column: at.Column, Message: input.Sprintf(format, args...), Hint: hint}
}

// has reports whether the file has the key at path.
func (d *decoder) has(path string) bool { return d.values[path] != nil }

// position is where a node starts.
func position(n ast.Node) *token.Position {
	if m, ok := n.(ast.MapNode); ok {
		// The token of a block mapping is its first colon.
		if flow, ok := n.(*ast.MappingNode); !ok || !flow.IsFlowStyle {
			if it := m.MapRange(); it.Next() {
				return it.Key().GetToken().Position
			}
		}
	}
	return n.GetToken().Position
}

func keyOf(f reflect.StructField) string {
	key, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
	return key
}

func below(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// called is the name of the value at a path in messages.
func called(path string) string {
	if path == "" {
		return "a scenario"
	}
	return path
}

// in names the place of an unknown key.
func in(path string) string {
	if path == "" {
		return ""
	}
	return " in " + path
}

// describe names the type of a node, for "must be ..., not ...".
func describe(n ast.Node) string {
	switch n.(type) {
	case *ast.StringNode, *ast.LiteralNode:
		return "a text"
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		return "a number"
	case *ast.BoolNode:
		return "true or false"
	case *ast.SequenceNode:
		return "a list"
	case ast.MapNode:
		return "a set of keys"
	}
	return "this"
}
