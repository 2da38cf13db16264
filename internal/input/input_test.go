package input

import (
	"errors"
	"strings"
	"testing"
)

// An error that repeats a file would flood a terminal, or send commands to it.
func TestTextsAreCutAndEscaped(t *testing.T) {
	for _, tt := range []struct{ format, in, want string }{
		{"%q", "a\x1b[2J", `"a\x1b[2J"`},
		{"%s", "a\x1b[2J\xff\u202eé", `a\x1b[2J\xff\u202eé`},
		{"%s", "two\nlines", `two\nlines`},
		{"%v", strings.Repeat("é", 200), strings.Repeat("é", 200)},
		{"%v", strings.Repeat("é", 201), strings.Repeat("é", 200) + "..."},
		{"%q", strings.Repeat("é", 201), `"` + strings.Repeat("é", 200) + `"...`},
	} {
		if got := Sprintf(tt.format, tt.in); got != tt.want {
			t.Errorf("%s of %q is %s", tt.format, tt.in, got)
		}
		if got := Sprintf(tt.format, errors.New(tt.in)); got != tt.want {
			t.Errorf("%s of the error %q is %s", tt.format, tt.in, got)
		}
	}
}

type inner struct {
	Count int `json:"count"`
}

type document struct {
	inner
	Names map[string]inner `json:"names"`
	List  []*inner         `json:"list"`
	Any   any              `json:"any"`
	Plain string
}

// The reader refuses at any depth what package json would guess at.
func TestJSONIsStrict(t *testing.T) {
	for _, tt := range []struct{ doc, want string }{
		{`{"count":1,"names":{"a":{"count":1},"A":{"count":2}},"list":[{"count":3}],"any":{"Count":1,"count":1},"Plain":"x"}`, ""},
		{`{"count":1,"count":1}`, `the key "count" comes twice`},
		{`{"Count":1}`, `the key "Count" is written "count"`},
		{`{"plain":"x"}`, `the key "plain" is written "Plain"`},
		{`{"list":[{},{"COUNT":1}]}`, `the key "COUNT" is written "count"`},
		{`{"names":{"a":{},"a":{}}}`, `the key "a" comes twice`},
		{`{"names":{"a":{"cOunt":1}}}`, `the key "cOunt" is written "count"`},
		{`{"any":[{"x":1,"x":1}]}`, `the key "x" comes twice`},
		{`{"list":null}`, "null is no value"},
		{`{"list":[null]}`, "null is no value"},
		{"{\"Plain\":\"\xff\"}", "invalid UTF-8"},
		{`{"later":1}`, "unknown field"},
		{`{} {}`, "after top-level value"},
		{strings.Repeat(`{"any":`, 20_000), "depth"},
	} {
		var d document
		err := JSON{}.Unmarshal([]byte(tt.doc), &d)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%.100s: got %v, want %q", tt.doc, err, tt.want)
		}
	}
	var d document
	if err := (JSON{Unknown: true, Null: true}).Unmarshal([]byte(`{"later":{"x":null},"list":null}`), &d); err != nil {
		t.Error(err)
	}
}

// A reader never reads more than its limit.
func TestReadAllStopsAtTheLimit(t *testing.T) {
	if text, err := ReadAll(strings.NewReader("12345"), 5); err != nil || string(text) != "12345" {
		t.Errorf("got %q, %v", text, err)
	}
	if _, err := ReadAll(strings.NewReader("123456"), 5); !errors.Is(err, errTooLong) {
		t.Errorf("got %v", err)
	}
}
