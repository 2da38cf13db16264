package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/yuin/gopher-lua/parse"
)

// script finds the mutants of one Lua script.
type script struct {
	file    string // from the root of the module
	text    string
	tokens  []luaToken
	mutants []*Mutant
}

// find finds all mutants. A change that the parser refuses is no mutant, because
// any run would distinguish it from the original.
func (s *script) find(p *goPackage) error {
	if _, err := parse.Parse(strings.NewReader(s.text), s.file); err != nil {
		return fmt.Errorf("parse script: %w", err)
	}
	s.tokens = luaTokens(s.text)
	for i, t := range s.tokens {
		switch {
		case t.text == "redis" && s.follows(i, ".", "call", "("):
			s.call(p, i)
		case luaOpposites[t.text] != "":
			s.mutate(p, "lua-flip", edit{t.pos, t.end, luaOpposites[t.text]})
			if shifted := luaBoundaries[t.text]; shifted != "" {
				s.mutate(p, "lua-boundary", edit{t.pos, t.end, shifted})
			}
		case t.text == "not":
			s.mutate(p, "lua-flip", edit{t.pos, s.tokens[i+1].pos, ""})
		case t.text == "if" || t.text == "elseif":
			s.condition(p, i+1)
		case isDigit(t.text[0]) && !s.isIndex(i):
			if n, err := strconv.Atoi(t.text); err == nil {
				s.mutate(p, "lua-constant", edit{t.pos, t.end, strconv.Itoa(n + 1)})
			}
		}
	}
	return nil
}

var (
	luaOpposites  = map[string]string{"==": "~=", "~=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
	luaBoundaries = map[string]string{"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
	// luaValues are the tokens before a token whose value the script uses.
	luaValues = []string{"=", "(", ",", "{", "[", "==", "~=", "<", ">", "<=", ">=", "+", "-", "*", "/", "..",
		"and", "or", "not", "return", "if", "elseif", "while", "until", "in"}
	// luaBulk are the commands that answer false for a missing value; others
	// answer 0.
	luaBulk = []string{"'get'", "'hget'", "'set'"}
)

// mutate adds a mutant, if the edited script is valid Lua.
func (s *script) mutate(p *goPackage, operator string, e edit) {
	if _, err := parse.Parse(strings.NewReader(e.apply(s.text)), s.file); err != nil {
		return
	}
	m := newMutant(s.file, s.text, operator, s.file[strings.LastIndexByte(s.file, '/')+1:], e)
	p.add(m)
	s.mutants = append(s.mutants, m)
}

// follows reports whether the tokens after the i-th are these.
func (s *script) follows(i int, want ...string) bool {
	for n, text := range want {
		if i+1+n >= len(s.tokens) || s.tokens[i+1+n].text != text {
			return false
		}
	}
	return true
}

// isIndex reports whether the i-th token is in the brackets of an index.
func (s *script) isIndex(i int) bool {
	for n := i; n >= 0 && s.tokens[n].text != "]"; n-- {
		if s.tokens[n].text == "[" {
			return true
		}
	}
	return false
}

// condition negates the condition before then, unless it has a comparison or a
// not. Those have mutants of their own.
func (s *script) condition(p *goPackage, first int) {
	i := first
	for ; i < len(s.tokens) && s.tokens[i].text != "then"; i++ {
		if luaOpposites[s.tokens[i].text] != "" || s.tokens[i].text == "not" {
			return
		}
	}
	pos, end := s.tokens[first].pos, s.tokens[i-1].end
	s.mutate(p, "lua-flip", edit{pos, end, "not (" + s.text[pos:end] + ")"})
}

// call drops the redis.call that begins with the i-th token, and swaps its
// arguments.
func (s *script) call(p *goPackage, i int) {
	depth := 0
	starts := []int{i + 4} // tokens at which the arguments begin, including the command
	last := i + 3
	for ; last < len(s.tokens); last++ {
		switch s.tokens[last].text {
		case "(", "{", "[":
			depth++
		case ")", "}", "]":
			depth--
		case ",":
			if depth == 1 {
				starts = append(starts, last+1)
			}
		}
		if depth == 0 {
			break
		}
	}
	whole := edit{pos: s.tokens[i].pos, end: s.tokens[last].end}
	if i > 0 && slices.Contains(luaValues, s.tokens[i-1].text) {
		whole.with = "0"
		if slices.Contains(luaBulk, s.tokens[i+4].text) {
			whole.with = "false"
		}
	}
	s.mutate(p, "lua-drop", whole)
	argument := func(n int) (pos, end int) {
		to := last
		if n+1 < len(starts) {
			to = starts[n+1] - 1
		}
		return s.tokens[starts[n]].pos, s.tokens[to-1].end
	}
	for n := 1; n+1 < len(starts); n++ {
		pos, end := argument(n)
		pos2, end2 := argument(n + 1)
		if s.text[pos:end] == s.text[pos2:end2] {
			continue
		}
		s.mutate(p, "lua-swap", edit{pos, end2, s.text[pos2:end2] + s.text[end:pos2] + s.text[pos:end]})
	}
}

// table is a Go map from the number of each mutant to its text.
func (s *script) table() string {
	var b strings.Builder
	b.WriteString("map[int]string{")
	for _, m := range s.mutants {
		fmt.Fprintf(&b, "%d: %q, ", m.number, m.at.apply(s.text))
	}
	return b.String() + "}"
}
