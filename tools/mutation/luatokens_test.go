package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-go/holdfast/internal/must"
)

// A sign in a comment or a text is no comparison.
func TestLuaTokens(t *testing.T) {
	var got []string
	for _, token := range luaTokens("-- a == b\nif x~='~= \\' <' then --[[ y\n ]] z[2] = [[ < ]] .. 1.5 end") {
		got = append(got, token.text)
	}
	want := []string{"if", "x", "~=", `'~= \' <'`, "then", "z", "[", "2", "]", "=", "[[ < ]]", "..", "1.5", "end"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// Each rule for scripts produces its mutants.
func TestMutantsOfAScript(t *testing.T) {
	s := &script{file: "x/y.lua", text: strings.Join([]string{
		"if redis.call('get', KEYS[1]) == ARGV[2] and not x then",
		"  redis.call('hset', KEYS[1], ARGV[2], 1)",
		"  return redis.call('del', KEYS[1])",
		"end",
		"if latch then return n > 0 end",
		"redis.call('zrange', -1, -1)",
	}, "\n")}
	must.Succeed(t, s.find(&goPackage{source: &source{}}))
	var got []string
	for _, m := range s.mutants {
		_, after, _ := strings.Cut(m.Diff, "+ ")
		got = append(got, m.Operator+": "+strings.TrimSpace(after))
	}
	want := []string{
		"lua-drop: if false == ARGV[2] and not x then",
		"lua-flip: if redis.call('get', KEYS[1]) ~= ARGV[2] and not x then",
		"lua-flip: if redis.call('get', KEYS[1]) == ARGV[2] and x then",
		"lua-drop: ",
		"lua-swap: redis.call('hset', ARGV[2], KEYS[1], 1)",
		"lua-swap: redis.call('hset', KEYS[1], 1, ARGV[2])",
		"lua-constant: redis.call('hset', KEYS[1], ARGV[2], 2)",
		"lua-drop: return 0",
		"lua-flip: if not (latch) then return n > 0 end",
		"lua-flip: if latch then return n <= 0 end",
		"lua-boundary: if latch then return n >= 0 end",
		"lua-constant: if latch then return n > 1 end",
		"lua-drop: ",
		"lua-constant: redis.call('zrange', -2, -1)",
		"lua-constant: redis.call('zrange', -1, -2)",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
